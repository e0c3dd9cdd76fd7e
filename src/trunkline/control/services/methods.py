"""Every method that an execution plane may call, by name, with typed parameters.

The VM edge calls `request` and `notify` with a `Caller` whose session it has checked; it turns
errors into `response.error`. docs/protocols/semibot-methods.md lists the parameters.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import structlog

from trunkline import limits
from trunkline.control.errors import InvalidRequest, Timeout, TrunklineError
from trunkline.control.services.evolutions import EvolutionInput
from trunkline.control.services.idempotency import Once, Repeated
from trunkline.control.services.usage import UsageReport

if TYPE_CHECKING:
    from trunkline.control.services import Services

_log = structlog.get_logger()
P = TypeVar("P")


class Caller(msgspec.Struct, frozen=True):
    """Who calls. The edge has checked that the session is that user's, on that machine."""

    user_id: str
    org_id: str
    machine_id: str
    session_id: str


class _SkillPackage(msgspec.Struct, frozen=True):
    skill_id: str
    version: str | None = None


class _MemorySearch(msgspec.Struct, frozen=True):
    query: str
    top_k: int | None = None


class _McpCall(msgspec.Struct, frozen=True):
    server: str
    tool: str
    arguments: dict[str, Any] | None = None


class _Agent(msgspec.Struct, frozen=True):
    agent_id: str


class _Session(msgspec.Struct, frozen=True):
    """Without an id: the session that asks."""

    session_id: str | None = None


class _McpTools(msgspec.Struct, frozen=True):
    server: str


class _Named(msgspec.Struct, frozen=True):
    """What every report may have: the machine's own name for it, so that it counts once."""

    report_id: str | None = None


class _AuditLog(msgspec.Struct, frozen=True):
    event: str
    details: dict[str, Any] | None = None


class _Snapshot(msgspec.Struct, frozen=True):
    checkpoint: dict[str, Any] | None = None
    short_term_memory: dict[str, Any] | None = None
    conversation_state: dict[str, Any] | None = None
    file_manifest: dict[str, Any] | None = None


class _MemoryWrite(msgspec.Struct, frozen=True):
    content: str
    metadata: dict[str, Any] | None = None


Method = Callable[[Caller, dict[str, Any]], Awaitable[Any]]
Report = Callable[[Caller, dict[str, Any], Once], Awaitable[None]]

_ACCEPTED = {"accepted": True}


class Methods:
    """`refused` counts dropped notifications by method, `unknown` for names that are no method."""

    def __init__(
        self, services: "Services", *, timeout_s: float = limits.REQUEST_TIMEOUT_S
    ) -> None:
        self._services = services
        self.refused: Counter[str] = Counter()
        taken: dict[str, Method] = {
            "usage_report": self._once(self._usage_report),
            "audit_log": self._once(self._audit_log),
            "evolution_submit": self._once(self._evolution_submit),
            "memory_write": self._once(self._memory_write),
        }
        self.reports = frozenset(taken)
        """The methods that a machine may call in either way."""
        self._notifications: dict[str, Method] = {**taken, "snapshot_sync": self._snapshot_sync}
        # None: the method bounds itself.
        self._requests: dict[str, tuple[Method, float | None]] = {
            "get_skill_package": (self._get_skill_package, timeout_s),
            "memory_search": (self._memory_search, timeout_s),
            "mcp_call": (self._mcp_call, None),
            "mcp_tools": (self._mcp_tools, None),
            "get_config": (self._get_config, timeout_s),
            "get_session": (self._get_session, timeout_s),
            **{name: (run, timeout_s) for name, run in taken.items()},
        }

    @property
    def names(self) -> list[str]:
        """Every method, for metrics whose labels must be bounded."""
        return list({**self._requests, **self._notifications})

    async def request(self, caller: Caller, method: str, given: dict[str, Any]) -> Any:
        """The method's result, or a TrunklineError whose code and message may be sent."""
        known = self._requests.get(method)
        if known is None:
            raise InvalidRequest(f"no method {method[:100]!r}", code="METHOD_NOT_FOUND")
        run, limit_s = known
        try:
            async with asyncio.timeout(limit_s):
                return await run(caller, given)
        except TrunklineError:
            raise
        except TimeoutError as error:
            raise Timeout(f"{method} did not finish in time") from error
        except Exception as error:
            _log.exception("request failed", method=method, **msgspec.structs.asdict(caller))
            raise TrunklineError(f"{method} failed; the control plane's log says why") from error

    async def notify(self, caller: Caller, method: str, given: dict[str, Any]) -> None:
        """Takes a notification. A bad one is logged and counted; nothing is raised."""
        run = self._notifications.get(method)
        label = "unknown" if run is None else method
        try:
            if run is None:
                raise InvalidRequest(f"no method {method[:100]!r}", code="METHOD_NOT_FOUND")
            await run(caller, given)
        except TrunklineError as error:
            self.refused[label] += 1
            fields = msgspec.structs.asdict(caller)
            _log.warning("notification refused", method=label, reason=error.message, **fields)
        except Exception:
            self.refused[label] += 1
            _log.exception("notification failed", method=label, **msgspec.structs.asdict(caller))

    async def _get_skill_package(self, caller: Caller, given: dict[str, Any]) -> Any:
        wanted = _typed(given, _SkillPackage)
        return await self._services.skills.get_package(
            caller.org_id, wanted.skill_id, wanted.version
        )

    async def _memory_search(self, caller: Caller, given: dict[str, Any]) -> Any:
        wanted = _typed(given, _MemorySearch)
        hits = await self._services.memories.search(
            caller.org_id, caller.user_id, wanted.query, wanted.top_k
        )
        return {"results": msgspec.to_builtins(hits)}

    async def _mcp_call(self, caller: Caller, given: dict[str, Any]) -> Any:
        wanted = _typed(given, _McpCall)
        pool = await self._services.mcp_pool()
        result = await pool.call(
            caller.org_id, caller.user_id, wanted.server, wanted.tool, wanted.arguments or {}
        )
        return {"result": result}

    async def _mcp_tools(self, caller: Caller, given: dict[str, Any]) -> Any:
        wanted = _typed(given, _McpTools)
        pool = await self._services.mcp_pool()
        return {"tools": await pool.tools(caller.org_id, caller.user_id, wanted.server)}

    async def _get_config(self, caller: Caller, given: dict[str, Any]) -> Any:
        wanted = _typed(given, _Agent).agent_id
        return await self._services.config.get_config(caller.user_id, caller.session_id, wanted)

    async def _get_session(self, caller: Caller, given: dict[str, Any]) -> Any:
        wanted = _typed(given, _Session).session_id or caller.session_id
        return await self._services.config.get_session(caller.user_id, wanted)

    def _once(self, report: Report) -> Method:
        """A report that may come again under the same name, and counts once."""

        async def taken(caller: Caller, given: dict[str, Any]) -> Any:
            once = self._services.reports.once(caller.session_id, _typed(given, _Named).report_id)
            said = {name: value for name, value in given.items() if name != "report_id"}
            try:
                await report(caller, said, once)
            except Repeated:
                _log.debug("a report came again", **msgspec.structs.asdict(caller))
            return _ACCEPTED

        return taken

    async def _usage_report(self, caller: Caller, given: dict[str, Any], once: Once) -> None:
        known = UsageReport.__struct_fields__
        details = {name: value for name, value in given.items() if name not in known}
        if isinstance(given.get("details"), dict):
            details |= given["details"]
        report = _typed({**given, "details": details}, UsageReport)
        await self._services.usage.record(
            caller.org_id, caller.user_id, caller.session_id, report, once
        )

    async def _audit_log(self, caller: Caller, given: dict[str, Any], once: Once) -> None:
        entry = _typed(given, _AuditLog)
        await self._services.audit.append(
            entry.event,
            {**(entry.details or {}), "machine_id": caller.machine_id},
            org_id=caller.org_id,
            user_id=caller.user_id,
            session_id=caller.session_id,
            once=once,
        )

    async def _evolution_submit(self, caller: Caller, given: dict[str, Any], once: Once) -> None:
        # Both forms occur: with the fields in `candidate`, and without it.
        inner = given.get("candidate")
        evolution = _typed(inner if isinstance(inner, dict) else given, EvolutionInput)
        await self._services.evolutions.submit(
            caller.org_id, caller.user_id, caller.session_id, evolution, once
        )

    async def _snapshot_sync(self, caller: Caller, given: dict[str, Any]) -> None:
        _typed(given, _Snapshot)
        await self._services.snapshots.sync(caller.session_id, given)

    async def _memory_write(self, caller: Caller, given: dict[str, Any], once: Once) -> None:
        memory = _typed(given, _MemoryWrite)
        metadata = {**(memory.metadata or {}), "session_id": caller.session_id}
        await self._services.memories.add(
            caller.org_id, caller.user_id, memory.content, metadata, once
        )


def _typed(given: dict[str, Any], kind: type[P]) -> P:
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"params: {error}", code="INVALID_PARAMS") from error
