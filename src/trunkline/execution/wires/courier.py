"""Carries messages to a foreign server and back, over one line after the other.

Everything that is owed goes out in order and is asked after, until it is known to have arrived.
What messages mean is the wire's.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import structlog
from yarl import URL

from trunkline import limits
from trunkline.execution.wires.keeper import Keeper
from trunkline.execution.wires.owed import Owed
from trunkline.execution.wires.socket import Socket
from trunkline.wire.errors import Malformed

_log = structlog.get_logger(__name__)


class Wire(Protocol):
    """What each protocol says in its own way."""

    async def greet(self, socket: Socket) -> None:
        """The handshake. Raises NoLine."""

    def opening(self) -> list[bytes]:
        """First of all on every line."""

    def caught_up(self) -> list[bytes]:
        """After what was owed."""

    def beat(self) -> bytes:
        """A sign of life."""

    def outgoing(self, body: bytes) -> bytes:
        """A message in the words of the moment in which it is sent."""

    def take(self, text: str) -> None:
        """A message of the server. Raises Malformed."""


class Courier:
    """Lives as long as the machine; lines come and go."""

    def __init__(
        self, url: URL, wire: Wire, owed: Owed, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._keeper = Keeper(url, sleep)
        self._wire = wire
        self._owed = owed
        self._now: deque[bytes] = deque()
        """Of use on this line or not at all."""
        self._now_bytes = 0
        self._socket: Socket | None = None
        self._work = asyncio.Event()
        self._sent = asyncio.Event()
        self._arrived = asyncio.Event()
        self.online = False

    async def run(self) -> None:
        """Until cancelled. Raises ServerRefused."""
        await self._keeper.run(self._live)

    def wake(self) -> None:
        """There is something new to send."""
        self._work.set()

    def say_now(self, body: bytes) -> None:
        """A server that lets too many of these wait does not read: its line ends."""
        if not self.online:
            return
        self._now.append(body)
        self._now_bytes += len(body)
        self.wake()
        is_over = self._now_bytes > limits.WIRE_NOW_BYTES_MAX
        if self._socket is not None and (is_over or len(self._now) > limits.WIRE_NOW_MAX):
            _log.warning("the server sends and does not read; the line ends")
            self._forget_now()
            self.online = False
            self._socket.abort()

    async def flush(self) -> None:
        """Returns when everything has arrived, or will not for now."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.LINE_FLUSH_S):
                while self.online and not self._owed.is_empty:
                    self._arrived.clear()
                    await self._arrived.wait()

    # --- One line -------------------------------------------------------------------------------

    async def _live(self, socket: Socket) -> None:
        async with asyncio.timeout(limits.YEAFT_AUTH_TIMEOUT_S):
            await self._wire.greet(socket)
        self._keeper.is_up()
        self._owed.rewind()
        self._forget_now()
        self._socket = socket
        socket.on_arrived = self._has_arrived
        self.online = True
        reading = asyncio.create_task(self._read(socket), name="reading")
        working = (
            asyncio.create_task(self._send(socket), name="sending"),
            asyncio.create_task(self._ask_arrived(socket), name="asking what arrived"),
            asyncio.create_task(self._beat(), name="beating"),
        )
        try:
            await asyncio.wait((*working, reading), return_when="FIRST_COMPLETED")
            # A line that cannot be written to any more may still say why.
            await asyncio.wait((reading,), timeout=limits.CLOSE_GRACE_S)
        finally:
            self.online = False
            self._socket = None
            self._arrived.set()
            for task in (*working, reading):
                task.cancel()
            ended = await asyncio.gather(*working, reading, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, ConnectionError):
                _log.error("the line failed", exc_info=error)

    async def _read(self, socket: Socket) -> None:
        async for text in socket.texts():
            try:
                self._wire.take(text)
            except Malformed as error:
                _log.warning("malformed message from the server", problem=str(error))
            except Exception:
                _log.exception("a message of the server could not be taken")

    async def _send(self, socket: Socket) -> None:
        for opening in self._wire.opening():
            await socket.send(opening)
        is_caught_up = False
        while True:
            self._work.clear()
            while (body := self._next()) is not None:
                await socket.send(self._wire.outgoing(body))
            self._sent.set()
            if not is_caught_up:
                is_caught_up = True
                for body in self._wire.caught_up():
                    self.say_now(body)
            elif not self._now:
                await self._work.wait()

    def _next(self) -> bytes | None:
        """However much is owed, what is of use now does not wait behind it."""
        if not self._now:
            return self._owed.take()
        body = self._now.popleft()
        self._now_bytes -= len(body)
        return body

    def _forget_now(self) -> None:
        self._now.clear()
        self._now_bytes = 0

    async def _ask_arrived(self, socket: Socket) -> None:
        """One question at a time: what has arrived of what was sent?"""
        while True:
            await self._sent.wait()
            self._sent.clear()
            if mark := self._owed.sent_last:
                self._arrived.clear()
                await socket.ask_arrived(mark)
                await self._arrived.wait()
                await asyncio.sleep(limits.WIRE_CONFIRM_S)

    def _has_arrived(self, mark: int) -> None:
        self._owed.arrived(mark)
        self._arrived.set()
        if self._owed.sent_last:
            self._sent.set()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(limits.WIRE_BEAT_S)
            self.say_now(self._wire.beat())
