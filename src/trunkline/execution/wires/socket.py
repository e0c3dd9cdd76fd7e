"""One WebSocket to a foreign server: text in, text out, and what is known to have arrived.

No wire of this kind acknowledges messages. A pong does: it answers a ping that was sent behind
them, and a server reads its frames in order.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

import aiohttp
import structlog
from aiohttp import WSMsgType
from yarl import URL

from trunkline import limits
from trunkline.execution.errors import LineEnd, NoLine
from trunkline.execution.ws.line import BROKEN, end_of, why_of

_log = structlog.get_logger(__name__)


class Socket:
    """An open connection; who is at the other end, and whether it lets us in, is not known."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.end = LineEnd(BROKEN, "the connection was lost")
        self.on_arrived: Callable[[int], None] = lambda _mark: None
        """Told the mark of a ping that was answered."""

    async def send(self, message: bytes) -> None:
        """Waits while the network does not keep up. Raises ConnectionError on a broken line."""
        await self._socket.send_frame(message, WSMsgType.TEXT)

    async def ask_arrived(self, mark: int) -> None:
        """Answered by `on_arrived` when everything that was sent before has been read."""
        await self._socket.ping(str(mark).encode())

    async def texts(self) -> AsyncIterator[str]:
        """What comes in, until the line ends; then `end` says how."""
        while True:
            frame = await self._socket.receive()
            match frame.type:
                case WSMsgType.TEXT:
                    yield frame.data
                case WSMsgType.PING:
                    await self._socket.pong(frame.data)
                case WSMsgType.PONG:
                    self._answered(bytes(frame.data))
                case WSMsgType.BINARY:
                    _log.warning("a binary frame is no message; ignored")
                case _:
                    self.end = end_of(frame, self._socket.close_code)
                    return

    def _answered(self, mark: bytes) -> None:
        if mark.isdigit() and len(mark) < 20:
            self.on_arrived(int(mark))

    def abort(self) -> None:
        """Ends it now, with whatever is not sent yet: for a server that would never read it."""
        connection = self._socket._conn
        if connection is not None and connection.transport is not None:
            connection.transport.abort()

    async def close(self) -> None:
        """With 1000, so that the server knows that we meant it."""
        await self._socket.close()


async def open_socket(http: aiohttp.ClientSession, url: URL) -> Socket:
    """Raises NoLine. An HTTP answer that is no WebSocket has its status as the end's code."""
    try:
        async with asyncio.timeout(limits.LINE_OPEN_TIMEOUT_S):
            socket = await http.ws_connect(
                url,
                max_msg_size=limits.FRAME_BYTES_MAX,
                autoping=False,  # pongs say what has arrived
                heartbeat=limits.LINE_PING_S,
                timeout=aiohttp.ClientWSTimeout(ws_close=limits.CLOSE_GRACE_S),
            )
    except aiohttp.WSServerHandshakeError as error:
        raise NoLine(LineEnd(error.status, why_of(error)), was_reached=False) from None
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise NoLine(LineEnd(BROKEN, why_of(error)), was_reached=False) from None
    return Socket(socket)
