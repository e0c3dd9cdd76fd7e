"""What this machine can do right now, with reasons: told in every heartbeat.

Looking may take time (a program is asked for its version), so it happens beside the event loop, now
and then; a heartbeat gets what was seen last.
"""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable

import psutil
import structlog

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.catalog import Catalog, Found

_log = structlog.get_logger(__name__)

HEALTH_INTERVAL_S = 10.0  # what was installed meanwhile is told with the next heartbeat


WORKS = (
    "short_term_memory",
    "checkpoints",
    "models",
    "local_mcp",
    "code_execution",
    "cached_skills",
)
DEGRADED = {
    "long_term_memory": "searches find nothing",
    "remote_mcp": "calls fail, and the agent plans without them",
    "uncached_skills": "cannot be loaded",
    "usage_reports": "kept here and sent later",
    "events": "kept here and sent later",
    "snapshots": "skipped; the next one catches up",
}


class Health:
    """The newest picture, and the task that renews it."""

    def __init__(
        self,
        catalog: Catalog,
        sessions: Callable[[], dict[str, int]],
        sessions_max: int,
        *,
        fence: Json | None = None,
        semigraph: Callable[[], Json] = dict,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`sessions` counts them, those with a process and those without apart. `fence`: what
        keeps them to their own place. `semigraph`: what sessions of our own runtime may name."""
        self._catalog = catalog
        self._sessions = sessions
        self._sessions_max = sessions_max
        self._fence = {} if fence is None else {"fence": fence}
        self._semigraph = semigraph
        self._sleep = sleep
        self._seen = self._picture(catalog.first())

    def report(self) -> Json:
        """Of this moment; costs nothing."""
        details = self._seen["runtime_details"]
        own = {**details["semigraph"], **self._semigraph()}
        return {
            **self._seen,
            **self._fence,
            "runtime_details": {**details, "semigraph": own},
            "sessions": {**self._sessions(), "max": self._sessions_max},
            "degradation": {"without_line": {"works": list(WORKS), "degraded": DEGRADED}},
        }

    async def run(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:
                _log.exception("the machine's health could not be looked at")
            await self._sleep(HEALTH_INTERVAL_S)

    async def look(self) -> None:
        self._seen = self._picture(await self._catalog.look())

    def _picture(self, found: dict[str, Found]) -> Json:
        node, node_problem = self._catalog.node()
        openclaw = found["openclaw"]
        return {
            "runtimes": sorted(name for name, one in found.items() if one.is_usable),
            "runtime_details": {name: one.told() for name, one in found.items()},
            "worktrees": shutil.which("git") is not None,
            "node_available": not node_problem,
            "node_version": node or None,
            "node_reason": node_problem or None,
            "openclaw_available": openclaw.is_usable,
            "openclaw_version": openclaw.version or None,
            "openclaw_reason": openclaw.reason or None,
            "load": _load(),
        }


def _load() -> Json:
    """How busy this machine is, whoever keeps it so."""
    memory = psutil.virtual_memory()
    return {
        "cpu": round(os.getloadavg()[0], 2),
        "cpus": os.cpu_count(),
        "memory_bytes": memory.total - memory.available,
        "memory_bytes_max": memory.total,
    }


def degradation(is_online: bool) -> tuple[list[str], list[str]]:
    """What works with the line as it is, and what does not work as usual."""
    return ([*WORKS, *DEGRADED], []) if is_online else (list(WORKS), list(DEGRADED))
