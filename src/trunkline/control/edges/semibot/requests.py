"""Requests and reports of execution planes: run once, answered on whichever line is up then.

A result is stored before it is sent, so that a line that breaks in between, or a restart of the
control plane, does not lose it (docs/protocols/semibot.md#reconnecting).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.errors import NotFound, TrunklineError
from trunkline.control.machines.machine import Machine
from trunkline.control.services.methods import MEMORY_METHODS, Caller
from trunkline.control.store import causes
from trunkline.control.tasks import Serial
from trunkline.wire.semibot.deployed import MEMORY
from trunkline.wire.semibot.messages import ErrorBody, FireAndForget, Request, Response

if TYPE_CHECKING:
    from trunkline.control.edges.semibot.connection import VmLine

_log = structlog.get_logger(__name__)

Json = dict[str, Any]
T = TypeVar("T")

_REPORTS_WAITING_MAX = 10_000
_NOT_RUN: Json = {
    "status": "failed",
    "error": {"code": "NOT_WRITABLE", "message": "the control plane cannot look it up now"},
}
_NO_SESSION = "no such session on this machine"


class VmRequests:
    """What execution planes have asked for and not been answered yet."""

    def __init__(self, core: Core) -> None:
        self._services = core.services
        self._placement = core.placement
        self._metrics = core.metrics
        self._tasks = core.tasks
        self._requests_max = core.tuning.requests_max
        self._retry_s = core.tuning.retry_s
        self._running: dict[tuple[str, str], VmLine] = {}
        """By machine and request id, with the line that wants the answer now."""
        self._promised: set[tuple[str, str]] = set()
        """Requests that ran when their machine asked for them in `resume`. It was told to ask
        again, and gets the answer of the first time."""
        self._per_user: dict[str, int] = {}
        self._reports: dict[str, Serial] = {}
        self.methods = frozenset(core.services.methods.names)

    def request(self, line: "VmLine", request: Request) -> None:
        caller = self._caller(line, request.session_id, request.method)
        if caller is None:
            no_session = ErrorBody(code="SESSION_NOT_FOUND", message=_NO_SESSION)
            line.tell(Response(id=request.id, error=no_session))
            return
        key = (caller.machine_id, request.id)
        if key in self._running:
            self._running[key] = line  # asked again after a reconnect: it runs already
            return
        if self._per_user.get(caller.user_id, 0) >= self._requests_max:
            busy = ErrorBody(code="TOO_MANY_REQUESTS", message="too many requests are under way")
            line.tell(Response(id=request.id, error=busy))
            return
        self._running[key] = line
        self._per_user[caller.user_id] = self._per_user.get(caller.user_id, 0) + 1
        work = self._run(key, caller, request, is_late=self._is_late(line, caller))
        if request.method in self._services.methods.reports:
            self._queue(caller).add(work, "vm report")
        else:
            self._tasks.spawn(work, f"request {request.method[:40]}")

    async def _run(
        self, key: tuple[str, str], caller: Caller, request: Request, *, is_late: bool
    ) -> None:
        started = time.perf_counter()
        entry: Json | None = None
        try:
            entry = await self._kept(key, caller)
            if entry is None:
                entry = await self._outcome(caller, request, is_late=is_late)
                await self._services.results.keep(caller.user_id, request.id, entry)
        except Exception:
            # The machine gets its answer all the same; only a `resume` would miss it.
            _log.exception("a result could not be kept", machine=caller.machine_id)
            entry = entry or _NOT_RUN
        finally:
            line = self._running.pop(key)
            self._count_down(caller.user_id)
        known = request.method if request.method in self.methods else "unknown"
        self._metrics.request_seconds.labels(known).observe(time.perf_counter() - started)
        line.tell(_response(request.id, entry))

    async def _outcome(self, caller: Caller, request: Request, *, is_late: bool) -> Json:
        """What became of it, as `resume_response` says it."""
        try:
            if is_late:
                await self._check_ran(caller)
            data = await self._answer(caller, request)
        except TrunklineError as error:
            return {"status": "failed", "error": {"code": error.code, "message": error.message}}
        return {"status": "completed", "data": data}

    async def _answer(self, caller: Caller, request: Request) -> Any:
        methods = self._services.methods
        ask = partial(methods.request, caller, request.method, request.params)
        return await (self._until_written(ask) if request.method in methods.reports else ask())

    async def _until_written(self, take: Callable[[], Awaitable[T]]) -> T:
        """A report is not refused because the disk is full: it waits, as events do, and those of
        its machine wait behind it."""
        while True:
            try:
                return await take()
            except TrunklineError as error:
                if not causes.is_refusal(error):
                    raise
            await asyncio.sleep(self._retry_s)

    def _count_down(self, user_id: str) -> None:
        self._per_user[user_id] -= 1
        if not self._per_user[user_id]:
            del self._per_user[user_id]

    def report(self, line: "VmLine", message: FireAndForget) -> None:
        caller = self._caller(line, message.session_id, message.method)
        if caller is None:
            line.complain("SESSION_NOT_FOUND", _NO_SESSION, message.session_id)
            return
        queue = self._queue(caller)
        if len(queue) >= _REPORTS_WAITING_MAX:
            _log.warning("too many reports wait; one is dropped", machine=caller.machine_id)
            self._services.methods.refused["too many"] += 1
            return
        is_late = self._is_late(line, caller)
        queue.add(self._take(line, caller, message, is_late=is_late), "vm report")

    async def _take(
        self, line: "VmLine", caller: Caller, message: FireAndForget, *, is_late: bool
    ) -> None:
        if is_late:
            try:
                await self._check_ran(caller)
            except NotFound as error:
                line.complain(error.code, error.message, caller.session_id)
                return
        notify = self._services.methods.notify
        take = partial(notify, caller, message.method, message.params)
        if message.method in self._services.methods.reports:
            await self._until_written(take)
            return
        try:
            await take()
        except TrunklineError as error:
            # A snapshot: a newer one follows.
            fields = {"method": message.method, "machine": caller.machine_id}
            _log.error("not kept", code=error.code, session=caller.session_id, **fields)

    def _queue(self, caller: Caller) -> Serial:
        """Reports of one machine are taken one after the other, in their order."""
        return self._reports.setdefault(caller.machine_id, Serial(self._tasks))

    async def _kept(self, key: tuple[str, str], caller: Caller) -> Json | None:
        """The answer to a request that ran during its machine's `resume`, so that it runs once."""
        if key not in self._promised:
            return None
        self._promised.discard(key)
        entry = (await self._services.results.fetch(caller.user_id, [key[1]]))[key[1]]
        return None if entry["status"] == "not_found" else entry

    async def results_of(self, machine: Machine, request_ids: Iterable[str]) -> dict[str, Any]:
        """The entries of `resume_response`. What still runs is asked for again, and found."""
        ids = list(request_ids)
        running = {(machine.id, one) for one in ids}.intersection(self._running)
        if len(self._promised) < limits.RESUME_IDS_MAX:
            self._promised |= running
        return await self._services.results.fetch(machine.user_id, ids)

    def _caller(self, line: "VmLine", session_id: str, method: str) -> Caller | None:
        """None for a session that is not this machine's; the user's memory is no session's. What
        was used, learnt or done before a
        session ended is reported late and counts: whether it ran there is looked up then."""
        machine = line.machine
        if machine is None:
            return None
        owner = machine.user_id, machine.org_id, machine.id
        if session_id == MEMORY and method in MEMORY_METHODS:
            return Caller(*owner, session_id, is_sessionless=True)
        if session_id not in machine.logs and method not in self._services.methods.reports:
            return None
        return Caller(*owner, session_id, asks=line.traits.rules)

    def _is_late(self, line: "VmLine", caller: Caller) -> bool:
        if caller.is_sessionless:
            return False
        return line.machine is None or caller.session_id not in line.machine.logs

    async def _check_ran(self, caller: Caller) -> None:
        """Raises unless the session was closed on this machine, or moved away from it."""
        if not await self._placement.left(caller.machine_id, [caller.session_id]):
            raise NotFound("session", caller.session_id)


def _response(request_id: str, entry: Json) -> Response:
    error = entry.get("error")
    body = None if error is None else ErrorBody(**error)
    return Response(id=request_id, result=entry.get("data"), error=body)
