"""One run of the fork server, as the daemon sees it: started, asked, and gone at some point.

It gets one end of a socketpair and the environment it is given, and nothing else.
"""

import asyncio
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.session import fork_messages, fork_server
from trunkline.execution.session.child import Exit, StartFailed
from trunkline.execution.session.fork_messages import (
    Exited,
    Failed,
    Kill,
    Ready,
    Refused,
    Spawn,
    Spawned,
)
from trunkline.execution.session.lines import Lines

_log = structlog.get_logger(__name__)


class ForkedChild:
    """A session's process that the fork server made."""

    def __init__(self, pid: int, kill: Callable[[], None]) -> None:
        self.pid = pid
        self.ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self.kill = kill


class ServerGone(StartFailed):
    """It was asked too late; the next one may do it."""


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
        self.is_ready.add_done_callback(seen)
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

    async def spawn(self, socket_path: str) -> ForkedChild:
        number = self._number = self._number + 1
        asked: asyncio.Future[ForkedChild] = asyncio.get_running_loop().create_future()
        self._asked[number] = asked
        self._lines.send(fork_messages.line(Spawn(id=number, socket_path=socket_path)))
        try:
            return await asked
        finally:
            del self._asked[number]

    def on_line(self, line: bytes) -> None:
        match fork_messages.decode_up(line):
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
            case Exited() as exited:
                child = self._children.pop(exited.pid, None)
                if child is not None:
                    child.ended.set_result(Exit(exit_code=exited.exit_code, signal=exited.signal))

    def _spawned(self, number: int, pid: int) -> None:
        child = ForkedChild(pid, lambda: self._lines.send(fork_messages.line(Kill(pid=pid))))
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
        _fail(self.is_ready, ServerGone(why))
        for asked in self._asked.values():
            _fail(asked, ServerGone(why))

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
        try:
            async with asyncio.timeout(limits.PROCESS_DRAIN_S):
                await self.process.wait()
        except TimeoutError:
            self.kill()
            await self.process.wait()
        self.bury()


def seen(future: asyncio.Future[Any]) -> None:
    """A failure that nobody waits for is no fault."""
    if not future.cancelled():
        future.exception()


def _fail(future: asyncio.Future[Any] | None, error: StartFailed) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
