"""One WebSocket to the control plane, from the connection to its close code (document 000 §2).

An open line is authenticated and has had its `init`. Text in, text out; it decides nothing.
"""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import structlog
from aiohttp import WSMsgType
from yarl import URL

from trunkline import limits
from trunkline.execution.errors import LineEnd, NoLine
from trunkline.execution.ws import downlink, frames
from trunkline.wire.errors import Malformed
from trunkline.wire.semibot.connection import CAPABILITIES
from trunkline.wire.semibot.messages import InitData

_log = structlog.get_logger(__name__)

BROKEN = 1006
"""What RFC 6455 calls a line that ended without a close frame."""


class Line:
    """An open line."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, init: InitData, token: str) -> None:
        self._socket = socket
        self.init = init
        self.token = token
        """The one that opened this line: keys in its `init` are encrypted with it."""
        self.end = LineEnd(BROKEN, "the connection was lost")

    async def send(self, frame: bytes) -> None:
        """Waits while the network does not keep up. Raises ConnectionError on a broken line."""
        await self._socket.send_frame(frame, WSMsgType.TEXT)

    async def texts(self) -> AsyncIterator[str]:
        """What comes in, until the line ends; then `end` says how."""
        while True:
            frame = await self._socket.receive()
            if frame.type is WSMsgType.TEXT:
                yield frame.data
            elif frame.type is WSMsgType.BINARY:
                _log.warning("a binary frame is no message; ignored")
            else:
                self.end = end_of(frame, self._socket.close_code)
                return

    async def close(self) -> None:
        """With 1000, so that the control plane knows that we meant it."""
        await self._socket.close()


async def open_line(http: aiohttp.ClientSession, url: URL, token: str) -> Line:
    """Connects, shows the token and waits for `init`. Raises NoLine."""
    socket: aiohttp.ClientWebSocketResponse | None = None
    try:
        async with asyncio.timeout(limits.LINE_OPEN_TIMEOUT_S):
            socket = await http.ws_connect(
                url,
                max_msg_size=limits.FRAME_BYTES_MAX,
                autoping=True,
                heartbeat=limits.LINE_PING_S,
                timeout=aiohttp.ClientWSTimeout(ws_close=limits.CLOSE_GRACE_S),
            )
            await socket.send_frame(frames.auth(token, CAPABILITIES), WSMsgType.TEXT)
            return Line(socket, await _init(socket), token)
    except BaseException as error:
        if socket is not None:
            await socket.close()
        if isinstance(error, aiohttp.ClientError | OSError | TimeoutError):
            raise NoLine(LineEnd(BROKEN, why_of(error)), was_reached=socket is not None) from None
        raise


def why_of(error: BaseException) -> str:
    """In words for people, and without the URL, which may have a ticket in it."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"HTTP {error.status}: {error.message}"[:200]
    return (str(error) or type(error).__name__)[:200]


async def _init(socket: aiohttp.ClientWebSocketResponse) -> InitData:
    while True:
        frame = await socket.receive()
        if frame.type is not WSMsgType.TEXT:
            raise NoLine(end_of(frame, socket.close_code), was_reached=True)
        try:
            message = downlink.read(frame.data)
        except Malformed as error:
            _log.warning("malformed message before init", problem=str(error))
            continue
        if isinstance(message, InitData):
            return message
        _log.warning("a message before init; ignored")


def end_of(frame: aiohttp.WSMessage, close_code: int | None) -> LineEnd:
    if frame.type is WSMsgType.CLOSE:
        return LineEnd(int(frame.data or BROKEN), str(frame.extra or "")[:200])
    code = int(close_code or BROKEN)
    reason = str(frame.data)[:200] if frame.type is WSMsgType.ERROR else "the connection was lost"
    return LineEnd(code, reason)
