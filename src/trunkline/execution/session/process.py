"""A runtime with a process of its own that speaks the socket of docs/protocols/ipc.md.

From its start to its end: its socket, its pings, how it ended. Whoever starts it (the fork server,
or a program of another runtime) is a `Launch`; what its messages mean is somebody else's business.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.errors import MessageTooLong, StartFailed
from trunkline.execution.json_object import Json
from trunkline.execution.process import family
from trunkline.execution.process.child import Child, Failure, Launch, failure_of
from trunkline.execution.process.sockets import Lines, SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.runtime_adapter import RuntimeAdapter

_log = structlog.get_logger(__name__)

PROCESS_READY_S = 10.0  # from a process's start to its `ready`
PROCESS_PING_S = 5.0
PROCESS_PINGS_UNANSWERED_MAX = 6  # with the above: a process that is silent for 30 s hangs
PROCESS_STOP_GRACE_S = 4.0  # between `stop` and SIGKILL
IPC_UNREAD_BYTES_MAX = 4 * limits.FRAME_BYTES_MAX  # a process that does not read its socket hangs


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a process may take for what."""

    ready_s: float = PROCESS_READY_S
    ping_s: float = PROCESS_PING_S
    pings_max: int = PROCESS_PINGS_UNANSWERED_MAX
    stop_s: float = PROCESS_STOP_GRACE_S
    drain_s: float = limits.PROCESS_DRAIN_S


class SessionProcess(RuntimeAdapter):
    """Started once; a session that goes on after its process's death gets a new one of these.

    It has no state that could be taken elsewhere; a runtime that has one, in the session's
    `folder`, says so.
    """

    def __init__(
        self,
        launch: Launch,
        sockets: SocketFolder,
        patience: Patience,
        folder: Path,
        on_message: Callable[[ipc.Up], None],
        on_ended: Callable[[Failure], None],
    ) -> None:
        self._launch = launch
        self._sockets = sockets
        self._patience = patience
        self._folder = folder
        self._on_message = on_message
        self._on_ended = on_ended
        self._child: Child | None = None
        self._lines: Lines | None = None
        self._session_id = ""
        self._ready: asyncio.Future[ipc.Ready] = asyncio.get_running_loop().create_future()
        self._closed = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._unanswered = 0
        self._is_working = False
        self._why: Failure | None = None
        """What it said of itself before it ended, or why we ended it."""
        self._oom_kills = family.oom_kills()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    @property
    def alive(self) -> bool:
        """Whether it can take messages; one without a socket cannot, though its end is not told
        yet."""
        is_heard = self._lines is None or not self._lines.has_hung_up
        return self._is_up() and not self._closed.is_set() and is_heard

    @property
    def is_working(self) -> bool:
        return self._is_working and self.alive

    async def start(self, config: ipc.Start) -> ipc.Ready:
        """From nothing to `ready`. Raises StartFailed, and then nothing is left of it."""
        self._session_id = config.session_id
        try:
            listening = await self._sockets.open()
        except OSError as error:
            raise StartFailed(f"no socket for the session's process: {error}") from error
        try:
            self._child = await self._launch(str(listening.path))
            self._watching = asyncio.create_task(self._watch(self._child), name="session process")
            async with asyncio.timeout(self._patience.ready_s):
                connecting = asyncio.create_task(listening.accept(self._child.pid))
                try:
                    await asyncio.wait(
                        (connecting, self._ready), return_when=asyncio.FIRST_COMPLETED
                    )
                    if connecting.done():
                        self._lines = connecting.result()
                        self._lines.listen(self)
                        self.send(config)
                    return await asyncio.shield(self._ready)
                finally:
                    connecting.cancel()
        except TimeoutError:
            why = f"the session's process was not ready within {self._patience.ready_s:g} s"
            raise StartFailed(why) from None
        finally:
            listening.close()
            if not self._is_up():
                await self._give_up()

    async def send_message(self, data: ipc.UserMessageData) -> None:
        self.send(ipc.UserMessage(data=data))

    async def cancel(self, reason: str) -> None:
        self.send(ipc.Cancel(reason=reason))

    def send(self, message: ipc.Down) -> None:
        """To the process, in order. One that does not read what it is sent hangs."""
        if self._lines is None:
            return
        self._lines.send(ipc.line(message))
        if self._lines.unsent_bytes > IPC_UNREAD_BYTES_MAX:
            self._hang()

    async def stop(self, reason: str) -> None:
        """Asks it to save and end, waits, kills. Returns when it is gone."""
        if self._watching is None:
            return
        self.send(ipc.Stop(reason=reason))
        _, late = await asyncio.wait((self._watching,), timeout=self._patience.stop_s)
        if late:
            _log.warning("a session's process did not stop and is killed", session=self._session_id)
            self.kill()
            await asyncio.wait((self._watching,))

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    def on_line(self, line: bytes) -> None:
        message = ipc.decode_up(line)
        if isinstance(message, ipc.Pong):
            self._unanswered, self._is_working = 0, message.working
        elif isinstance(message, ipc.Ready):
            if not self._ready.done():
                self._ready.set_result(message)
        elif isinstance(message, ipc.Error):
            _log.error(
                "a session's process cannot go on",
                session=self._session_id,
                code=message.code,
                problem=message.message,
            )
            self._why = Failure(code=message.code, message=message.message)
        else:
            self._on_message(message)

    def on_lost(self, error: Exception | None) -> None:
        if isinstance(error, MessageTooLong):
            self._breaks(f"it sent a line of more than {limits.IPC_LINE_BYTES_MAX} bytes")
        elif isinstance(error, msgspec.MsgspecError):
            self._breaks("it sent something that is no message")
        elif error is not None and not isinstance(error, ConnectionError):
            self._breaks(f"its socket failed: {type(error).__name__}")
            _log.error("a session's socket failed", session=self._session_id, exc_info=error)
        self._closed.set()

    def _breaks(self, how: str) -> None:
        """It does not keep to the protocol, and is ended for it."""
        why = f"the session's process was ended: {how}"
        self._why = Failure(code="SESSION_CRASHED", message=why)
        self.kill()

    async def _watch(self, child: Child) -> None:
        """Until the end; then says how it came about."""
        pinging = asyncio.create_task(self._ping())
        closed = asyncio.create_task(self._closed.wait())
        try:
            await asyncio.wait((child.ended, closed), return_when=asyncio.FIRST_COMPLETED)
            # The other follows: a process that ended leaves words in its socket, and one that
            # closed its socket is about to end.
            wait_s = self._patience.drain_s if child.ended.done() else self._patience.stop_s
            await asyncio.wait((child.ended, closed), timeout=wait_s)
            if not child.ended.done():
                self._breaks("it closed its socket and lived on")
            end = await asyncio.shield(child.ended)
        finally:
            pinging.cancel()
            closed.cancel()
            if self._lines is not None:
                self._lines.close()
        failure = failure_of(end, self._why, oom_kills=family.oom_kills() - self._oom_kills)
        if self._is_up():
            self._on_ended(failure)
        elif not self._ready.done():
            self._ready.set_exception(StartFailed(failure.message))

    async def _ping(self) -> None:
        # Counted in pings, not in time: a daemon that was stopped itself kills nobody for it.
        await asyncio.wait((self._ready,))
        while True:
            await asyncio.sleep(self._patience.ping_s)
            if self._unanswered >= self._patience.pings_max:
                self._hang()
                return
            self._unanswered += 1
            self.send(ipc.Ping())

    def _hang(self) -> None:
        _log.warning("a session's process hangs and is killed", session=self._session_id)
        why = "the session's process did not answer any more and was ended"
        self._why = Failure(code="SESSION_HUNG", message=why)
        self.kill()

    def _is_up(self) -> bool:
        return self._ready.done() and not self._ready.cancelled() and not self._ready.exception()

    async def _give_up(self) -> None:
        """After a start that came to nothing."""
        self._ready.cancel()
        self.kill()
        if self._watching is not None:
            await asyncio.gather(self._watching, return_exceptions=True)

    async def get_snapshot(self) -> Json:
        return {}

    async def restore(self, snapshot: Json) -> None:
        return
