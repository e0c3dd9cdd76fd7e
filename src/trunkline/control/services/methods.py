"""Every method that an execution plane may call, by name, with typed parameters.

The VM edge calls `request` and `notify` with a `Caller` whose session it has checked; it turns
errors into `response.error`. docs/protocols/semibot-methods.md lists the parameters.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import msgspec
import structlog

from trunkline import limits
from trunkline.control.errors import Forbidden, InvalidRequest, Timeout, TrunklineError
from trunkline.control.services.evolutions import EvolutionInput
from trunkline.control.services.idempotency import Once, Repeated
from trunkline.control.services.rules import Rule, check
from trunkline.control.services.usage import UsageReport
from trunkline.control.store import causes
from trunkline.permissions.names import mcp_name, names_of
from trunkline.permissions.subjects import Call

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
    is_sessionless: bool = False
    """It is about the user, and no session is meant: see MEMORY_METHODS."""
    asks: bool = False
    """Its machine holds to the session's rules, and has asked where they say so."""


class _Named(msgspec.Struct, frozen=True):
    """What every report may have: the machine's own name for it, so that it counts once."""

    report_id: str | None = None


class _Snapshot(msgspec.Struct, frozen=True):
    checkpoint: dict[str, Any] | None = None
    short_term_memory: dict[str, Any] | None = None
    conversation_state: dict[str, Any] | None = None
    file_manifest: dict[str, Any] | None = None


Json = dict[str, Any]
Method = Callable[[Caller, Json], Awaitable[Any]]
Offered = Callable[..., Awaitable[Any]]

_OWN_NAMES = frozenset({"caller", "once"})
_ACCEPTED = {"accepted": True}

MEMORY_METHODS = frozenset(("memory_search", "memory_write"))
"""What a machine may call without a session."""


class Methods:
    """`refused` counts dropped notifications by method, `unknown` for names that are no method."""

    def __init__(
        self,
        services: "Services",
        offered: Mapping[str, Offered],
        *,
        timeout_s: float = limits.REQUEST_TIMEOUT_S,
    ) -> None:
        self._services = services
        self._timeout_s = timeout_s
        self.refused: Counter[str] = Counter()
        taken = {
            "usage_report": self._once(self._usage_report),
            "audit_log": self._once(self._audit_log),
            "evolution_submit": self._once(self._evolution_submit),
            "memory_write": self._once(self._memory_write),
        }
        self.reports = frozenset(taken)
        """The methods that a machine may call in either way."""
        self._notifications = {**taken, "snapshot_sync": _typed(self._snapshot_sync)}
        # None: the method bounds itself.
        self._requests: dict[str, tuple[Method, float | None]] = {
            "get_skill_package": (_typed(self._get_skill_package), timeout_s),
            "memory_search": (_typed(self._memory_search), timeout_s),
            "mcp_call": (_typed(self._mcp_call), None),
            "mcp_tools": (_typed(self._mcp_tools), None),
            "get_config": (_typed(self._get_config), timeout_s),
            "get_session": (_typed(self._get_session), timeout_s),
            **{name: (run, timeout_s) for name, run in taken.items()},
            **{name: (_typed(run), timeout_s) for name, run in offered.items()},
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
        """Takes a notification. A bad one is logged and counted; what is raised is that nothing can
        be written now."""
        run = self._notifications.get(method)
        label = "unknown" if run is None else method
        try:
            if run is None:
                raise InvalidRequest(f"no method {method[:100]!r}", code="METHOD_NOT_FOUND")
            await run(caller, given)
        except TrunklineError as error:
            if causes.is_refusal(error):
                raise
            self.refused[label] += 1
            fields = msgspec.structs.asdict(caller)
            _log.warning("notification refused", method=label, reason=error.message, **fields)
        except Exception:
            self.refused[label] += 1
            _log.exception("notification failed", method=label, **msgspec.structs.asdict(caller))

    async def _get_skill_package(
        self, caller: Caller, skill_id: str, version: str | None = None
    ) -> Json:
        return await self._services.skills.get_package(caller.org_id, skill_id, version)

    async def _memory_search(self, caller: Caller, query: str, top_k: int | None = None) -> Json:
        search = self._services.memories.search
        hits = await search(caller.org_id, caller.user_id, query, top_k)
        told = [{"content": h.content, "score": h.score, "metadata": h.metadata} for h in hits]
        return {"results": told}

    async def _mcp_call(
        self, caller: Caller, server: str, tool: str, arguments: Json | None = None
    ) -> Json:
        held = await self._services.rules.of_session(caller.session_id)
        if held:
            name = (await self._services.mcp_servers.endpoint(*_user(caller), server)).name
            await self._check(caller, held, mcp_name(name, tool))
        call = (await self._services.mcp_pool()).call
        return {"result": await call(caller.org_id, caller.user_id, server, tool, arguments or {})}

    async def _check(self, caller: Caller, held: list[Rule], tool_name: str) -> None:
        """Raises Forbidden where rules do not let the machine do that, and leaves an entry."""
        try:
            check(held, Call(names_of(tool_name)), asks=caller.asks)
        except Forbidden as error:
            details = {
                "tool_name": tool_name,
                "machine_id": caller.machine_id,
                "reason": str(error),
                "code": error.code,
            }
            await self._services.audit.append(
                "rule.refused",
                details,
                org_id=caller.org_id,
                user_id=caller.user_id,
                session_id=None if caller.is_sessionless else caller.session_id,
            )
            raise

    async def _mcp_tools(self, caller: Caller, server: str) -> Json:
        pool = await self._services.mcp_pool()
        return {"tools": await pool.tools(caller.org_id, caller.user_id, server)}

    async def _get_config(self, caller: Caller, agent_id: str) -> Json:
        return await self._services.config.get_config(caller.user_id, caller.session_id, agent_id)

    async def _get_session(self, caller: Caller, session_id: str | None = None) -> Json:
        """Without an id: the session that asks."""
        return await self._services.config.get_session(
            caller.user_id, session_id or caller.session_id
        )

    def _once(self, report: Callable[..., Awaitable[None]]) -> Method:
        """A report that may come again under the same name, and counts once."""
        run = _typed(report)

        async def taken(caller: Caller, given: Json) -> Json:
            name = _read(given, _Named).report_id if not caller.is_sessionless else None
            once = self._services.reports.once(caller.session_id, name)
            said = {name: value for name, value in given.items() if name != "report_id"}
            try:
                await run(caller, said, once=once)
            except Repeated:
                _log.debug("a report came again", **msgspec.structs.asdict(caller))
            return _ACCEPTED

        return taken

    async def _usage_report(self, caller: Caller, given: Json, once: Once) -> None:
        known = UsageReport.__struct_fields__
        details = {name: value for name, value in given.items() if name not in known}
        if isinstance(given.get("details"), dict):
            details |= given["details"]
        report = _read({**given, "details": details}, UsageReport)
        owner = caller.org_id, caller.user_id, caller.session_id
        await self._services.usage.record(*owner, report, once)

    async def _audit_log(
        self, caller: Caller, event: str, once: Once, details: Json | None = None
    ) -> None:
        await self._services.audit.append(
            event,
            {**(details or {}), "machine_id": caller.machine_id},
            org_id=caller.org_id,
            user_id=caller.user_id,
            session_id=caller.session_id,
            source="machine",
            once=once,
        )

    async def _evolution_submit(self, caller: Caller, given: Json, once: Once) -> None:
        # Both forms occur: with the fields in `candidate`, and without it.
        inner = given.get("candidate")
        evolution = _read(inner if isinstance(inner, dict) else given, EvolutionInput)
        owner = caller.org_id, caller.user_id, caller.session_id
        await self._services.evolutions.submit(*owner, evolution, once)

    async def _snapshot_sync(self, caller: Caller, given: Json) -> None:
        _read(given, _Snapshot)
        await self._services.snapshots.sync(caller.session_id, given)

    async def _memory_write(
        self, caller: Caller, content: str, once: Once, metadata: Json | None = None
    ) -> None:
        owner, rules = _user(caller), self._services.rules
        if caller.is_sessionless:
            held = await rules.of_user(*owner)
        else:
            held = await rules.of_session(caller.session_id)
        await self._check(caller, held, "memory_write")
        if not caller.is_sessionless:
            metadata = {**(metadata or {}), "session_id": caller.session_id}
        await self._services.memories.add(*owner, content, metadata, once)


def _user(caller: Caller) -> tuple[str, str]:
    return caller.org_id, caller.user_id


def _typed(run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A method whose parameters are read as its signature says; `given` stands for all of them."""
    named = [one for one in signature(run).parameters.values() if one.name not in _OWN_NAMES]
    if [one.name for one in named] == ["given"]:
        return run
    hints = get_type_hints(run)
    fields = [
        (one.name, hints[one.name], msgspec.field() if one.default is one.empty else one.default)
        for one in named
    ]
    kind = msgspec.defstruct(run.__name__, fields)

    def typed(caller: Caller, given: Json, **more: Once) -> Awaitable[Any]:
        return run(caller, **msgspec.structs.asdict(_read(given, kind)), **more)

    return typed


def _read(given: Json, kind: type[P]) -> P:
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"params: {error}", code="INVALID_PARAMS") from error
