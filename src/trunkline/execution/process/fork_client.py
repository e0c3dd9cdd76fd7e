"""The fork server as the daemon sees it: started, asked for processes, replaced when it ends.

A fork server gets one end of a socketpair and the environment it is given, and nothing else.
"""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.backoff import Backoff
from trunkline.execution.errors import ForkServerGone, StartFailed
from trunkline.execution.process import fork_server
from trunkline.execution.process.child import Exit
from trunkline.execution.process.fork_server import (
    Exited,
    Failed,
    Kill,
    Ready,
    Refused,
    Spawn,
    Spawned,
)
from trunkline.execution.process.programs import ended
from trunkline.execution.process.sockets import Lines

_log = structlog.get_logger(__name__)

FORK_SERVER_READY_S = 60.0  # imports on a slow machine
FORK_SERVER_ANSWER_S = 10.0  # for one fork; a server that takes longer is replaced
FORK_SERVER_DELAYS_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)  # before each new try


class ForkedChild:
    """A session's process that the fork server made."""

    def __init__(self, pid: int, kill: Callable[[], None]) -> None:
        self.pid = pid
        self.ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self.kill = kill


class ForkLink:
    """One run of the fork server."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        lines: Lines,
        when_lost: Callable[[], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self.process = process
        self.is_ready: asyncio.Future[None] = loop.create_future()
        self.is_ready.add_done_callback(_seen)
        self._lost = asyncio.Event()
        self._when_lost = when_lost
        self._lines = lines
        self._asked: dict[int, asyncio.Future[ForkedChild]] = {}
        self._children: dict[int, ForkedChild] = {}
        self._number = 0
        self.has_served = False
        lines.listen(self)

    @classmethod
    async def launch(
        cls,
        arguments: Sequence[str],
        env: Mapping[str, str],
        folder: Path,
        when_lost: Callable[[], None],
    ) -> "ForkLink":
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            process = await asyncio.create_subprocess_exec(
                # -P: what an agent writes into its working folder is nothing to import.
                *(sys.executable, "-P", "-m", fork_server.__name__),
                *(str(theirs.fileno()), *arguments),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=dict(env),
                cwd=folder,
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        _, lines = await asyncio.get_running_loop().create_connection(
            lambda: Lines(limits.IPC_LINE_BYTES_MAX), sock=ours
        )
        return cls(process, lines, when_lost)

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    async def spawn(self, socket_path: str, target: str) -> ForkedChild:
        number = self._number = self._number + 1
        asked: asyncio.Future[ForkedChild] = asyncio.get_running_loop().create_future()
        self._asked[number] = asked
        spawn = Spawn(id=number, socket_path=socket_path, target=target)
        self._lines.send(fork_server.line(spawn))
        try:
            return await asked
        finally:
            del self._asked[number]

    def on_line(self, line: bytes) -> None:
        match fork_server.decode_up(line):
            case Ready(threads=threads):
                if threads != 1:
                    _log.warning("the fork server has threads, which sessions miss", count=threads)
                if not self.is_ready.done():
                    self.is_ready.set_result(None)
            case Failed(message=message):
                why = f"a session's program cannot be loaded: {message}"
                _fail(self.is_ready, StartFailed(why))
            case Spawned(id=number, pid=pid):
                self._spawned(number, pid)
            case Refused(id=number, message=message):
                _fail(self._asked.get(number), StartFailed(message))
            case Exited(pid=pid, exit_code=exit_code, signal=number):
                child = self._children.pop(pid, None)
                if child is not None:
                    child.ended.set_result(Exit(exit_code=exit_code, signal=number))

    def _spawned(self, number: int, pid: int) -> None:
        child = ForkedChild(pid, lambda: self._lines.send(fork_server.line(Kill(pid=pid))))
        self._children[pid] = child
        self.has_served = True
        asked = self._asked.get(number)
        if asked is not None and not asked.done():
            asked.set_result(child)
        else:
            child.kill()  # whoever asked for it has given up

    def on_lost(self, error: Exception | None) -> None:
        if error is not None and not isinstance(error, ConnectionError):
            _log.error("the fork server's socket failed", exc_info=error)
        self._lost.set()
        self._when_lost()
        self._fail("the fork server ended")

    def _fail(self, why: str) -> None:
        _fail(self.is_ready, ForkServerGone(why))
        for asked in self._asked.values():
            _fail(asked, ForkServerGone(why))

    async def ended(self) -> None:
        """Waits for the end of the server. Its sessions' processes ended with it."""
        await self._lost.wait()
        await self.process.wait()

    def kill(self) -> None:
        """One that does not answer; its processes die with it."""
        if self.process.returncode is None:
            self.process.kill()

    def bury(self) -> None:
        """Tells whoever has a process of this server that it is over."""
        for child in self._children.values():
            child.ended.set_result(Exit())
        self._children.clear()

    async def close(self) -> None:
        """The end of our socket is its sign to end everything below it, and itself."""
        self._lines.close()
        await ended(self.process, limits.PROCESS_DRAIN_S)
        self.bury()


class Spawner:
    """One fork server after the other, as long as the daemon lives."""

    def __init__(
        self,
        env: Mapping[str, str],
        folder: Path,
        target: str = fork_server.DEFAULT_TARGET,
        *,
        log_level: str = "info",
        json_logs: bool = False,
        ready_s: float = FORK_SERVER_READY_S,
        answer_s: float = FORK_SERVER_ANSWER_S,
        after_death: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._env = env
        self._folder = folder
        self._arguments = (target, log_level, "json" if json_logs else "text")
        self._ready_s = ready_s
        self._answer_s = answer_s
        self._after_death = after_death
        self._server: asyncio.Future[ForkLink] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._problem: str | None = None
        """Why the last one did not start."""

    async def start(self) -> None:
        """Begins the imports; `spawn` waits for them."""
        self._renew()
        self._keeping = asyncio.create_task(self._keep(), name="fork server")

    async def spawn(self, socket_path: str, *, target: str = "") -> ForkedChild:
        """A new process, of the fork server's own program or of `target`. Raises StartFailed."""
        try:
            async with asyncio.timeout(self._ready_s):
                while True:
                    server = await self._next()
                    with suppress(ForkServerGone):
                        return await self._ask(server, socket_path, target)
        except TimeoutError:
            raise StartFailed("the fork server was not ready in time") from None

    async def _ask(self, server: ForkLink, socket_path: str, target: str) -> ForkedChild:
        """One that does not answer is killed: the next may be better."""
        try:
            async with asyncio.timeout(self._answer_s):
                return await server.spawn(socket_path, target)
        except TimeoutError:
            _log.error("the fork server does not answer and is killed")
            server.kill()
            raise StartFailed("the fork server did not answer in time") from None

    async def pid(self) -> int:
        """Of the fork server, once it is ready."""
        return (await self._next()).process.pid

    async def _next(self) -> ForkLink:
        assert self._server is not None
        return await asyncio.shield(self._server)

    def _renew(self) -> None:
        """From now on, who wants a server waits for the next one."""
        if self._server is None or self._server.done():
            self._server = asyncio.get_running_loop().create_future()
            self._server.add_done_callback(_seen)

    async def _keep(self) -> None:
        backoff = Backoff(FORK_SERVER_DELAYS_S)
        while True:
            await asyncio.sleep(backoff.next_s())
            try:
                server = await ForkLink.launch(
                    self._arguments, self._env, self._folder, when_lost=self._renew
                )
            except OSError as error:
                self._failed(StartFailed(f"the fork server cannot be started: {error}"))
                continue
            try:
                await self._came_up(server)
                await server.ended()
            except asyncio.CancelledError:
                await server.close()
                raise
            if self._problem is None:
                _log.error("the fork server ended", status=server.process.returncode)
            if server.has_served:
                backoff.reset()
            self._renew()
            if self._after_death is not None:
                await self._after_death()
            server.bury()

    def _failed(self, error: StartFailed) -> None:
        """Tells those who wait for it; who asks from now on waits for the next try."""
        assert self._server is not None
        if str(error) != self._problem:  # said once, however often it is tried
            _log.error("the fork server did not start", problem=str(error))
        self._problem = str(error)
        self._server.set_exception(error)
        self._renew()

    async def _came_up(self, server: ForkLink) -> None:
        """Tells those who wait for it."""
        assert self._server is not None
        try:
            async with asyncio.timeout(self._ready_s):
                await asyncio.shield(server.is_ready)
        except StartFailed as error:
            self._failed(error)
        except TimeoutError:
            server.kill()
            self._failed(StartFailed("the fork server was not ready in time"))
        else:
            self._problem = None
            if not server.is_lost:  # it may be gone again by now
                self._server.set_result(server)

    async def close(self) -> None:
        """Ends the fork server and every process below it."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)


def _seen(future: asyncio.Future[Any]) -> None:
    """A failure that nobody waits for is no fault."""
    if not future.cancelled():
        future.exception()


def _fail(future: asyncio.Future[Any] | None, error: StartFailed) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
