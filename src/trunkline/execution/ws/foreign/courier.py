"""Carries messages to a foreign server and back, over one connection after the other.

Everything unconfirmed goes out in order and is asked after, until it is known to have arrived: a
pong answers a ping that was sent behind it, and a server reads its frames in order. What messages
mean is the wire's. Agents and devices stop when a server refuses them, and so do we.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import structlog
from yarl import URL

from trunkline import limits
from trunkline.execution.backoff import Backoff
from trunkline.execution.errors import LineEnd, ServerRefused
from trunkline.execution.ws.connection import Socket, run_line, stay_connected
from trunkline.execution.ws.foreign.unconfirmed import Unconfirmed
from trunkline.wire.errors import Malformed

_log = structlog.get_logger(__name__)

WIRE_RECONNECT_DELAYS_S = (3.0, 4.5, 6.75, 10.125, 15.1875, 22.78125, 25.0)  # 3 s × 1.5ⁿ
WIRE_BEAT_S = 20.0  # between two signs of life in text
WIRE_CONFIRM_S = 0.05  # at least, between two pings that ask what has arrived
WIRE_NOW_MAX = 1_000  # messages of use on this line only; a server that reads none of them is cut
WIRE_NOW_BYTES_MAX = 8 * limits.MIB

_REFUSED = 1008
_REFUSED_HTTP = (400, 401, 403)


class Wire(Protocol):
    """What each protocol says in its own way."""

    async def greet(self, socket: Socket) -> None:
        """The handshake, where the address does not say it all. Raises NoLine."""
        return

    def opening(self) -> list[bytes]:
        """First of all on every line."""
        return []

    def caught_up(self) -> list[bytes]:
        """After what was unconfirmed."""
        return []

    def beat(self) -> bytes:
        """A sign of life."""

    def outgoing(self, body: bytes) -> bytes:
        """A message in the words of the moment in which it is sent."""
        return body

    def take(self, text: str) -> None:
        """A message of the server. Raises Malformed."""


class Courier:
    """Lives as long as the machine; lines come and go."""

    def __init__(
        self,
        url: URL,
        wire: Wire,
        unconfirmed: Unconfirmed,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._url = url
        self._wire = wire
        self._unconfirmed = unconfirmed
        self._sleep = sleep
        self._backoff = Backoff(WIRE_RECONNECT_DELAYS_S)
        self._was_up = False
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
        await stay_connected(self, greet_s=limits.YEAFT_AUTH_TIMEOUT_S, sleep=self._sleep)

    def address(self) -> URL:
        return self._url

    async def greet(self, socket: Socket) -> None:
        await self._wire.greet(socket)
        self._was_up = True
        self._backoff.reset()
        _log.info("the line to the server is up")

    def pause_s(self, end: LineEnd) -> float:
        if end.code == _REFUSED:
            why = end.reason or "the token or secret is wrong, or another has taken its place"
            raise ServerRefused(f"the server refuses this machine (1008): {why}")
        if end.code in _REFUSED_HTTP and not self._was_up:
            raise ServerRefused(f"the server refuses this machine ({end.reason})")
        delay_s = self._backoff.next_s()
        _log.warning(
            "no line to the server",
            code=end.code,
            reason=end.reason,
            next_attempt_in_s=round(delay_s, 1),
        )
        return delay_s

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
        is_over = self._now_bytes > WIRE_NOW_BYTES_MAX
        if self._socket is not None and (is_over or len(self._now) > WIRE_NOW_MAX):
            _log.warning("the server sends and does not read; the line ends")
            self._forget_now()
            self.online = False
            self._socket.abort()

    async def flush(self) -> None:
        """Returns when everything has arrived, or will not for now."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.LINE_FLUSH_S):
                while self.online and not self._unconfirmed.is_empty:
                    self._arrived.clear()
                    await self._arrived.wait()

    async def live(self, socket: Socket) -> None:
        self._unconfirmed.rewind()
        self._forget_now()
        self._socket = socket
        self.online = True
        try:
            await run_line(
                self._read(socket), self._send(socket), self._ask_arrived(socket), self._beat()
            )
        finally:
            self.online = False
            self._socket = None
            self._arrived.set()

    async def _read(self, socket: Socket) -> None:
        async for text in socket.texts(self._answered):
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
        """However much is unconfirmed, what is of use now does not wait behind it."""
        if not self._now:
            return self._unconfirmed.take()
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
            if mark := self._unconfirmed.sent_last:
                self._arrived.clear()
                await socket.ping(str(mark).encode())
                await self._arrived.wait()
                await asyncio.sleep(WIRE_CONFIRM_S)

    def _answered(self, mark: bytes) -> None:
        if not mark.isdigit() or len(mark) >= 20:
            return
        self._unconfirmed.arrived(int(mark))
        self._arrived.set()
        if self._unconfirmed.sent_last:
            self._sent.set()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(WIRE_BEAT_S)
            self.say_now(self._wire.beat())
