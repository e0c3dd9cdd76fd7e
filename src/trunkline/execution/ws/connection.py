"""WebSockets to a server, one after the other: opened, lived on, opened again after a pause.

For every wire. Who is at the other end, what is said and what its end means is the `Peer`'s.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Protocol

import aiohttp
import structlog
from aiohttp import WSMsgType
from yarl import URL

from trunkline import limits
from trunkline.execution.errors import LineEnd, NoLine, ServerRefused
from trunkline.execution.reaching import why_refused, why_unreached

_log = structlog.get_logger(__name__)

LINE_PING_S = 20.0  # of silence; half of it later without an answer, the line is dead

BROKEN = 1006
"""What RFC 6455 calls a line that ended without a close frame."""


class Socket:
    """One open connection: text in, text out. It decides nothing."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.end = LineEnd(BROKEN, "the connection was lost")

    async def send(self, message: bytes) -> None:
        """Waits while the network does not keep up. Raises ConnectionError on a broken line."""
        await self._socket.send_frame(message, WSMsgType.TEXT)

    async def ping(self, data: bytes) -> None:
        """Answered by a pong when everything that was sent before has been read."""
        await self._socket.ping(data)

    async def texts(
        self, on_pong: Callable[[bytes], None] = lambda _data: None
    ) -> AsyncIterator[str]:
        """What comes in, until the line ends; then `end` says how. `on_pong` is told what came
        back of a ping."""
        while True:
            frame = await self._socket.receive()
            match frame.type:
                case WSMsgType.TEXT:
                    yield frame.data
                case WSMsgType.PING:
                    await self._socket.pong(frame.data)
                case WSMsgType.PONG:
                    on_pong(bytes(frame.data))
                case WSMsgType.BINARY:
                    _log.warning("a binary frame is no message; ignored")
                case _:
                    self.end = _end_of(frame, self._socket.close_code)
                    return

    def abort(self) -> None:
        """Ends it now, with whatever is not sent yet: for a server that would never read it."""
        connection = self._socket._conn
        if connection is not None and connection.transport is not None:
            connection.transport.abort()

    async def close(self) -> None:
        """With 1000, so that the server knows that we meant it."""
        await self._socket.close()


class Peer(Protocol):
    """Who is at the other end of a line."""

    def address(self) -> URL:
        """Of the next attempt."""

    async def greet(self, socket: Socket) -> None:
        """The handshake. Raises NoLine, ServerRefused."""

    async def live(self, socket: Socket) -> None:
        """From the handshake to the end of this connection."""

    def pause_s(self, end: LineEnd) -> float:
        """How long to wait after that end. Raises ServerRefused when waiting would not help."""


async def stay_connected(
    peer: Peer, *, greet_s: float, sleep: Callable[[float], Awaitable[None]]
) -> None:
    """Until cancelled, or until the server refuses for good: then raises ServerRefused."""
    async with aiohttp.ClientSession() as http:
        while True:
            end = await _one_connection(http, peer, greet_s)
            pause_s = peer.pause_s(end)
            if pause_s > 0:
                await sleep(pause_s)


async def _one_connection(http: aiohttp.ClientSession, peer: Peer, greet_s: float) -> LineEnd:
    socket: Socket | None = None
    try:
        socket = await _open(http, peer.address())
        async with asyncio.timeout(greet_s):
            await peer.greet(socket)
        await peer.live(socket)
    except ServerRefused:
        raise
    except NoLine as error:
        return error.end
    except TimeoutError:
        return LineEnd(BROKEN, "the server did not answer the handshake in time")
    except (ConnectionError, aiohttp.ClientError):
        pass  # how it ended is known to the socket
    except Exception as error:
        _log.exception("a fault on this machine ended the line")
        return LineEnd(BROKEN, f"a fault on this machine: {type(error).__name__}")
    finally:
        if socket is not None:
            await socket.close()
    return socket.end if socket is not None else LineEnd(BROKEN, "there was no connection")


async def run_line(reading: Coroutine[Any, Any, None], *writing: Coroutine[Any, Any, None]) -> None:
    """The tasks of one connection, until the first of them ends."""
    reader = asyncio.create_task(reading, name="reading")
    writers = [asyncio.create_task(one, name="writing") for one in writing]
    try:
        await asyncio.wait((*writers, reader), return_when=asyncio.FIRST_COMPLETED)
        # A line that cannot be written to any more may still say why.
        await asyncio.wait((reader,), timeout=limits.CLOSE_GRACE_S)
    finally:
        for task in (*writers, reader):
            task.cancel()
        ended = await asyncio.gather(*writers, reader, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, ConnectionError):
            _log.error("the line failed", exc_info=error)


async def _open(http: aiohttp.ClientSession, url: URL) -> Socket:
    """Raises NoLine. An HTTP answer that is no WebSocket has its status as the end's code."""
    try:
        async with asyncio.timeout(limits.LINE_OPEN_TIMEOUT_S):
            socket = await http.ws_connect(
                url,
                max_msg_size=limits.FRAME_BYTES_MAX,
                autoping=False,  # pongs say what has arrived
                heartbeat=LINE_PING_S,
                timeout=aiohttp.ClientWSTimeout(ws_close=limits.CLOSE_GRACE_S),
            )
    except aiohttp.WSServerHandshakeError as error:
        raise NoLine(LineEnd(error.status, why_refused(error.status, url))) from None
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise NoLine(LineEnd(BROKEN, why_unreached(error, url))) from None
    return Socket(socket)


def _end_of(frame: aiohttp.WSMessage, close_code: int | None) -> LineEnd:
    if frame.type is WSMsgType.CLOSE:
        return LineEnd(int(frame.data or BROKEN), str(frame.extra or "")[:200])
    code = int(close_code or BROKEN)
    reason = str(frame.data)[:200] if frame.type is WSMsgType.ERROR else "the connection was lost"
    return LineEnd(code, reason)
