"""One port for everything: WebSocket edges, event streams, and HTTP for the rest.

Reads the head of a connection's first request and gives the transport to the one who serves it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol, cast

import msgspec
import structlog
from aiohttp import web

from trunkline import limits
from trunkline.control.door.closing import close_gracefully
from trunkline.control.door.connections import Connections
from trunkline.control.door.handshake_log import HandshakeLog
from trunkline.control.door.head import Head, parse_head, wire_of
from trunkline.control.door.origin import check_host, check_origin
from trunkline.control.door.upgrade import check_upgrade, name_of
from trunkline.control.errors import (
    InvalidRequest,
    LimitReached,
    NotFound,
    TooLarge,
    TrunklineError,
)
from trunkline.control.settings import Settings
from trunkline.control.surprises import HTTP, Surprises
from trunkline.wire.errors import Malformed

_log = structlog.get_logger(__name__)

STREAM: Final = "sse"
"""What the log calls event streams."""

Accept = Callable[[asyncio.Transport, Head], None]
Http = Callable[[], asyncio.Protocol]
TakeBack = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StreamEdge(Protocol):
    """An edge that serves plain GET requests in its own way."""

    def matches(self, head: Head) -> bool: ...

    def accept(self, transport: asyncio.Transport, head: Head) -> None: ...


class Door:
    """Which edge serves which request. `sockets`: those of WebSockets, as `wire_of` names them."""

    def __init__(
        self,
        settings: Settings,
        sockets: Mapping[str, Accept],
        stream: StreamEdge,
        connections: Connections,
        handshakes: HandshakeLog,
        surprises: Surprises,
        head_timeout_s: float = limits.HEAD_TIMEOUT_S,
    ) -> None:
        self.connections = connections
        self.handshakes = handshakes
        self.head_timeout_s = head_timeout_s
        self._settings = settings
        self._sockets = sockets
        self._surprises = surprises
        self._stream = stream
        self.waiting: set[Visitor] = set()

    def has_edge(self, head: Head) -> bool:
        return head.is_websocket or self._stream.matches(head)

    def admit(self, transport: asyncio.Transport, head: Head) -> None:
        """Gives a connection to its edge."""
        try:
            check_host(head.headers.get("Host"), self._settings)
            check_origin(head.headers.get("Origin"), head.headers.get("Host"), self._settings)
            self._accept_of(head)(transport, head)
        except TrunklineError as error:
            self.refuse(transport, head, error)

    def refuse(self, transport: asyncio.Transport, head: Head, error: TrunklineError) -> None:
        wire = STREAM if self._stream.matches(head) else name_of(head)
        self.handshakes.refused(wire, head.path, error)
        refuse(transport, error)

    def _accept_of(self, head: Head) -> Accept:
        if not head.is_websocket:
            return self._stream.accept
        accept = self._sockets.get(wire_of(head.path, head.query))
        if accept is None:
            self._surprises.saw(HTTP, f"socket {head.path}")
            raise NotFound("path", head.path)
        check_upgrade(head)
        return accept

    async def take_back(self, request: web.Request) -> web.StreamResponse:
        """Takes a kept-alive HTTP connection that asks for a stream or a WebSocket."""
        transport, protocol = request.transport, request.protocol
        if transport is None:
            raise ConnectionResetError("the client is gone")
        lines = [f"{request.method} {request.raw_path} HTTP/1.1".encode()]
        lines += [name + b": " + value for name, value in request.raw_headers]
        # aiohttp keeps, unparsed, what came behind an upgrade request.
        head = parse_head(b"\r\n".join(lines) + b"\r\n\r\n" + protocol._message_tail)
        assert head is not None
        if not self.has_edge(head):
            raise NotFound("path", head.path)  # given back to HTTP, it would come here again
        # Told that the client has left, aiohttp closes nothing and writes nothing any more.
        protocol.transport = None
        protocol.connection_lost(None)
        transport.resume_reading()
        self.admit(transport, head)
        raise asyncio.CancelledError


class _HeadTooLarge(TooLarge):
    status = 431


class Visitor(asyncio.Protocol):
    """A connection whose first request has not arrived whole yet. `http`: for what is no edge's."""

    __slots__ = ("_bytes", "_deadline", "_door", "_http", "_transport")

    def __init__(self, door: Door, http: Http) -> None:
        self._door = door
        self._http = http
        self._bytes = b""
        self._transport: asyncio.Transport
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._door.waiting.add(self)
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._door.head_timeout_s, self.abort)
        try:
            self._door.connections.opened(self._transport)
        except LimitReached:
            self.abort()  # a response would hold what there is too little of

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        try:
            head = parse_head(self._bytes)
        except Malformed as error:
            self._turn_away(InvalidRequest(str(error)))
            return
        size = len(self._bytes) if head is None else head.size
        if size > limits.HEAD_BYTES_MAX:
            self._turn_away(_HeadTooLarge("the request's head is too large"))
        elif head is not None:
            self._leave()
            self._enter(head)

    def _enter(self, head: Head) -> None:
        self._bytes = b""  # a transport holds on to its first protocol
        try:
            self._door.connections.arrived(self._transport, head.headers)
        except LimitReached as error:
            self._door.refuse(self._transport, head, error)
            return
        if self._door.has_edge(head):
            self._door.admit(self._transport, head)
        else:
            self._serve_http(head.raw)

    def _turn_away(self, error: TrunklineError) -> None:
        """What it asks for was never read."""
        self._leave()
        self._door.handshakes.refused(HTTP, "", error)
        refuse(self._transport, error)

    def _serve_http(self, arrived: bytes) -> None:
        protocol = self._http()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(arrived)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()

    def abort(self) -> None:
        self._leave()
        self._transport.abort()

    def _leave(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None
        self._door.waiting.discard(self)


_REASONS = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
    507: "Insufficient Storage",
}


def refuse(transport: asyncio.Transport, error: Exception) -> None:
    """Answers with the error in its REST form and ends the connection. Whoever calls has logged
    why, unless it is a fault of ours."""
    if not isinstance(error, TrunklineError):
        _log.error("a connection could not be let in", exc_info=error)
        error = TrunklineError("something went wrong here; the log says what")
    _answer(transport, error.status, error.code, error.message)


def _answer(transport: asyncio.Transport, status: int, code: str, message: str) -> None:
    body = msgspec.json.encode({"error": {"code": code, "message": message}})
    challenge = "WWW-Authenticate: Bearer\r\n" if status == 401 else ""
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"{challenge}Connection: close\r\n\r\n"
    )
    transport.write(head.encode() + body)
    close_gracefully(transport)
