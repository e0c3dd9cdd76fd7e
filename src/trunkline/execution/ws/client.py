"""The machine's one line to the control plane. The protocol: docs/protocols/semibot.md.

The daemon's other parts ask, report and send events here and need not know whether there is a
line: what can wait stays in the outbox, what cannot fails with ConnectionError.
"""

import asyncio
import contextlib
import random as chance
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

import structlog
from yarl import URL

from trunkline import limits
from trunkline.execution import logs
from trunkline.execution.errors import LineEnd, RequestFailed
from trunkline.execution.line import MACHINE, Handler, MachineSide
from trunkline.execution.ws import messages
from trunkline.execution.ws.connection import Socket, run_line, stay_connected
from trunkline.execution.ws.handlers import Handlers
from trunkline.execution.ws.login import Credentials, Login
from trunkline.execution.ws.messages import ForSession, ResumeResults, Unknown, opened
from trunkline.execution.ws.outbox import Outbox
from trunkline.execution.ws.queries import Queries
from trunkline.execution.ws.reports import Reports
from trunkline.execution.ws.requests import PendingRequests, timeout_s
from trunkline.execution.ws.uplink import Pace, Uplink
from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.messages import Ack, Error, InitData, Json, Query, Response, Token

_log = structlog.get_logger(__name__)


class ControlPlaneClient:
    """One per machine; every session's messages travel on it."""

    def __init__(
        self,
        control_plane_url: str,
        user_id: str,
        ticket: str | None,
        token: str,
        *,
        outbox: Outbox,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = chance.random,
        heartbeat_s: float = limits.HEARTBEAT_INTERVAL_S,
        request_s: Callable[[str], float] = timeout_s,
        credentials: Credentials | None = None,
    ) -> None:
        """`request_s`: how long a request may take, by its method. `credentials`: those of
        a machine that joined."""
        self.message_handlers = Handlers()
        self.online = False
        self._machine = MachineSide()  # until `connect` names it
        self._queries = Queries(self._say_now)
        self._heartbeat_s = heartbeat_s
        self._request_s = request_s
        self._requests = PendingRequests()
        self._resumed_ids: list[str] = []
        pace = Pace(clock)
        self._uplink = Uplink(outbox, pace, clock)
        url = URL(control_plane_url).update_query(user_id=user_id)
        self._login = Login(
            url, ticket, token, pace=pace, clock=clock, random=random, credentials=credentials
        )
        self._sleep = sleep
        self._init: InitData
        self._known: Json = {}
        """What the newest `init` said, with what was changed since."""
        self._opened_with = token
        """The token of this line: keys in its `init` are encrypted with it."""
        self._first_init: asyncio.Future[Json] | None = None
        self._running: asyncio.Task[None] | None = None

    async def connect(self, machine: MachineSide) -> Json:
        """Opens the line and keeps it open from now on, whatever happens to it. Returns the data
        of the first `init`, its keys decrypted, as soon as there is one."""
        self._machine = machine
        loop = asyncio.get_running_loop()
        self._first_init = loop.create_future()
        staying = stay_connected(self, greet_s=limits.LINE_OPEN_TIMEOUT_S, sleep=self._sleep)
        self._running = loop.create_task(staying, name="control plane line")
        await asyncio.wait((self._running, self._first_init), return_when="FIRST_COMPLETED")
        if not self._first_init.done():
            self._running.result()
        return await self._first_init

    async def close(self) -> None:
        """Sends what can be sent at once; the rest stays on disk."""
        self._uplink.spill()
        if self.online:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.LINE_FLUSH_S):
                    await self._uplink.flushed()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        await self._queries.close()
        self._requests.fail_all("the line to the control plane was closed")
        self._uplink.spill()
        self._uplink.outbox.close()

    def settle(self) -> None:
        self._uplink.outbox.settle()

    @property
    def token(self) -> str:
        """The one that the next line is opened with: control planes renew it."""
        return self._login.token

    @property
    def problem(self) -> str | None:
        """Why there is no line, for people; None while there is one."""
        return None if self.online else self._login.problem

    def address(self) -> URL:
        return self._login.address()

    async def greet(self, socket: Socket) -> None:
        self._init = await self._login.greet(socket)
        self._opened_with = self._login.token

    def pause_s(self, end: LineEnd) -> float:
        pause_s = self._login.pause_s(end)
        if self._login.is_exhausted:
            self._requests.fail_all(f"the control plane is unreachable: {end.reason}")
        return pause_s

    async def live(self, socket: Socket) -> None:
        """One line, from `init` to its end."""
        init = opened(self._init, self._opened_with)
        capabilities = frozenset(init["capabilities"])
        self._uplink.line_up(init["acked"], capabilities)
        is_first = self._first_init is not None and not self._first_init.done()
        if "seq" in capabilities or not is_first:
            # The first message after `init`: the rest may come right behind it.
            await socket.send(self._resume("seq" in capabilities))
        self._initialized(init)
        if is_first and self._first_init is not None:
            self._first_init.set_result(init)
        self.online = True
        try:
            self._machine.line_changed(True)
            await run_line(self._read(socket), self._uplink.pump(socket), self._beat())
        finally:
            self.online = False
            self._machine.line_changed(False)

    def _say_now(self, frame: bytes) -> None:
        if self.online:
            self._uplink.frame(frame)

    def _resume(self, has_seq: bool) -> bytes:
        self._resumed_ids = self._requests.ids
        if not has_seq:
            return messages.resume(self._resumed_ids, None)
        at_work, unsent = self._machine.open_turns(), self._uplink.outbox.turns()
        turns = {*at_work, *unsent, *self.message_handlers.turns()}
        return messages.resume(self._resumed_ids, sorted(turns))

    async def _beat(self) -> None:
        while True:
            self._heartbeat()
            await asyncio.sleep(self._heartbeat_s)

    def _heartbeat(self) -> None:
        machine = self._machine
        self._uplink.heartbeat(messages.heartbeat(machine.active_sessions(), machine.health()))

    async def _read(self, socket: Socket) -> None:
        async for text in socket.texts():
            try:
                message = messages.read(text)
                if isinstance(message, InitData):
                    # Keys or addresses have changed, and with them what can be run.
                    self._initialized(opened(message, self._opened_with))
                    self._heartbeat()
                else:
                    self._take(message)
            except Malformed as error:
                _log.warning("malformed message from the control plane", problem=str(error))

    def _initialized(self, init: Json) -> None:
        self._known = init
        self._machine.initialized(init)

    def _changed(self, access: InitData) -> None:
        """Some keys or models are others now; those that are not named stay."""
        given = opened(access, self._opened_with)
        names = ("api_keys", "llm_config")
        merged = {name: {**self._known.get(name, {}), **given[name]} for name in names}
        self._initialized({**self._known, **merged})

    def _take(self, message: messages.Message) -> None:
        match message:
            case Ack():
                self._uplink.outbox.acked(message.acked)
            case Response():
                if self._uplink.reports.answered(message):
                    self._uplink.wake()
                else:
                    self._requests.answered(message)
            case ForSession():
                if message.kind == "start_session" and message.session_id is not None:
                    acked = message.data.get("acked")
                    self._open_session(message.session_id, acked or 0)
                if message.access is not None:
                    self._changed(message.access)
                self.message_handlers.dispatch(message)
            case ResumeResults():
                ids, self._resumed_ids = self._resumed_ids, []
                for frame in self._requests.resumed(ids, message.results):
                    self._uplink.frame(frame)
            case Token():
                logs.hide([message.data.token])
                self._login.renewed(message.data.token)
            case Query():
                self._queries.take(message, self._machine.answer)
            case Error():
                self._complaint(message)
            case _:
                # Its name only: an `init` has keys in it.
                kind = message.kind if isinstance(message, Unknown) else type(message).__name__
                _log.warning("a message that is not expected here; ignored", type=kind)

    def _open_session(self, session_id: str, acked: int) -> None:
        try:
            self._uplink.outbox.open_session(session_id, acked)
        except ValueError as error:
            raise Malformed(str(error)) from error

    def _complaint(self, message: Error) -> None:
        session_id = message.session_id or None
        _log.warning(
            "the control plane complains",
            code=message.error.code,
            problem=message.error.message,
            session=session_id,
        )
        if message.error.code == "SESSION_NOT_FOUND" and session_id is not None:
            self._uplink.outbox.forget_session(session_id)

    async def request(self, session_id: str, method: str, /, **params: Any) -> Any:
        """The result. Raises RequestFailed, TimeoutError, and ConnectionError while the line is
        down; a request under way when the line breaks is taken up again on the next one."""
        if not self.online:
            raise ConnectionError(self.problem or "there is no line to the control plane")
        if self._requests.is_full:
            raise RequestFailed("TOO_MANY_REQUESTS", "too many requests are under way")
        request_id = str(uuid4())
        frame = messages.request(session_id, request_id, method, params)
        if len(frame) > limits.FRAME_BYTES_MAX:
            raise RequestFailed("REQUEST_TOO_LARGE", f"{method}: the request does not fit a frame")
        answer = self._requests.add(request_id, frame)
        self._uplink.frame(frame)
        try:
            async with asyncio.timeout(self._request_s(method)):
                return await answer
        finally:
            self._requests.remove(request_id)

    def send_sse_event(self, session_id: str, data: str) -> None:
        """An event as the JSON text that readers get. It arrives, now or when the line is back."""
        self._uplink.event(session_id, data)

    def fire_and_forget(self, session_id: str, method: str, /, **params: Any) -> None:
        """A report that arrives, now or when the line is back. Others (`snapshot_sync`) are of
        use now or not at all."""
        if method in Reports.METHODS:
            self._uplink.outbox.reports.add(session_id, method, params)
            self._uplink.wake()
            return
        frame = messages.fire_and_forget(session_id, method, params)
        if not self.online:
            _log.debug("skipped while the line is down", method=method, session=session_id)
        elif len(frame) > limits.FRAME_BYTES_MAX:
            _log.warning("too large for a frame", method=method, session=session_id)
        else:
            self._uplink.frame(frame)

    def register_session(self, session_id: str, handlers: Mapping[str, Handler]) -> None:
        """The session's messages go to these handlers from now on, those that came early too."""
        self.message_handlers[session_id] = handlers
        if self.online and session_id != MACHINE:
            self._heartbeat()  # the control plane need not wait to know that it runs

    def unregister_session(self, session_id: str) -> None:
        self.message_handlers.forget(session_id)
        self._uplink.session_ended(session_id)
