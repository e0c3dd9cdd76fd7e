"""What this machine can do right now, with reasons: told in every heartbeat.

Looking takes time (other programs are started), so it happens beside the event loop, now and
then; a heartbeat gets what was seen last.
"""

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Collection

import structlog

from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import ended

_log = structlog.get_logger(__name__)

HEALTH_INTERVAL_S = 60.0
HEALTH_CHECK_S = 5.0  # one program that is asked for its version


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

_NODE_MIN = (24, 16)


class Health:
    """The newest picture, and the task that renews it."""

    def __init__(
        self,
        runtimes: Collection[str],
        sessions: Callable[[], dict[str, int]],
        sessions_max: int,
        *,
        version_of: Callable[[str], Awaitable[str | None]] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`sessions` counts them, those with a process and those without apart."""
        self._runtimes = runtimes
        self._sessions = sessions
        self._sessions_max = sessions_max
        self._version_of = version_of or program_version
        self._sleep = sleep
        self._seen: Json = {
            "node_available": False,
            "node_reason": "not looked at yet",
            "openclaw_available": False,
            "openclaw_reason": "not looked at yet",
        }

    def report(self) -> Json:
        """Of this moment; costs nothing."""
        return {
            **self._seen,
            "runtimes": sorted(self._runtimes),
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
        node = await self._version_of("node")
        node_reason = _why_no_node(node)
        openclaw = await self._version_of("openclaw")
        self._seen = {
            "node_available": node_reason is None,
            "node_version": node,
            "node_reason": node_reason,
            **self._openclaw(openclaw, node_reason),
        }

    def _openclaw(self, version: str | None, node_reason: str | None) -> Json:
        reason = None
        if "openclaw" not in self._runtimes:
            reason = "this version of the daemon has no OpenClaw runtime"
        elif node_reason is not None:
            reason = node_reason
        elif version is None:
            reason = "the program openclaw is not installed"
        return {
            "openclaw_available": reason is None,
            "openclaw_version": version,
            "openclaw_reason": reason,
        }


def degradation(is_online: bool) -> tuple[list[str], list[str]]:
    """What works with the line as it is, and what does not work as usual."""
    return ([*WORKS, *DEGRADED], []) if is_online else (list(WORKS), list(DEGRADED))


def _why_no_node(version: str | None) -> str | None:
    wanted = ".".join(map(str, _NODE_MIN))
    if version is None:
        return f"Node.js is not installed; OpenClaw needs {wanted} or later"
    found = re.search(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < _NODE_MIN:
        return f"Node.js {version} is too old; OpenClaw needs {wanted} or later"
    return None


async def program_version(name: str, within_s: float = HEALTH_CHECK_S) -> str | None:
    """What a program on the PATH says to `--version`, if it is there and answers in time."""
    path = shutil.which(name)
    if path is None:
        return None
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(within_s):
            output, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        await ended(process, 0)
    return output.decode("utf-8", "replace").strip()[:100] or None
