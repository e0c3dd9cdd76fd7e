"""Hands a connection to picows, which speaks RFC 6455 on it, and ends it politely.

picows parses and unmasks frames; an edge's listener gets each as a callback, with no coroutine.
"""

import asyncio
import logging
from typing import Any, Protocol, cast

from picows import WSAutoPingStrategy, WSCloseCode, WSListener, WSTransport
from picows.picows import WSProtocol  # type: ignore[attr-defined]

from trunkline import limits
from trunkline.control.door.head import Head

# An adapter, because picows would make a logger of its own for every connection.
_logger = logging.LoggerAdapter(logging.getLogger("picows"), {})
_READ_BUFFER_BYTES = 4096  # grows with the frames; an idle line keeps this


class _Buffered(Protocol):
    """The part of picows' protocol that asyncio calls."""

    def connection_made(self, transport: Any) -> None: ...
    def get_buffer(self, sizehint: int) -> memoryview: ...
    def buffer_updated(self, nbytes: int) -> None: ...


def adopt(
    transport: asyncio.Transport, head: Head, listener: WSListener, frame_bytes_max: int
) -> None:
    """Answers the upgrade request and lets `listener` have the frames."""
    protocol = WSProtocol(
        None,
        None,
        False,
        lambda _request: listener,
        _logger,
        True,  # an exception in the listener ends this connection, not the server
        limits.HEAD_TIMEOUT_S,
        False,
        0,
        0,
        WSAutoPingStrategy.PING_WHEN_IDLE,
        False,  # the edge answers pings itself: they are a sign of life
        frame_bytes_max,
        None,
        _READ_BUFFER_BYTES,
    )
    transport.set_protocol(protocol)
    protocol.connection_made(_Lingering(transport))
    _feed(cast(_Buffered, protocol), head.raw)


def _feed(protocol: _Buffered, data: bytes) -> None:
    view = memoryview(data)
    while view:
        buffer = protocol.get_buffer(len(view))
        some = min(len(buffer), len(view))
        buffer[:some] = view[:some]
        protocol.buffer_updated(some)
        view = view[some:]


class _Lingering:
    """A transport whose `close` lets the peer read our close frame before the socket goes.

    Closing a socket with unread bytes resets it, and the peer loses what we said last: the very
    close code. So our half is closed, the rest is read and dropped, and only then comes the end.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._is_closing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        transport = self._transport
        if transport.is_closing():
            return
        owner = transport.get_protocol()
        transport.set_protocol(_Drain(owner))
        transport.resume_reading()
        if transport.can_write_eof():
            transport.write_eof()
        loop = asyncio.get_running_loop()
        loop.call_later(limits.CLOSE_GRACE_S, transport.abort)


class _Drain(asyncio.Protocol):
    """Reads and drops what the peer still sends; then tells the owner that it is over."""

    def __init__(self, owner: asyncio.BaseProtocol) -> None:
        self._owner = owner

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.connection_lost(exc)


def send_close(transport: WSTransport, code: int, reason: str) -> None:
    """Says why, then ends the connection; a peer that does not answer is cut."""
    # picows has names for the standard codes only; the number travels as it is.
    transport.send_close(cast(WSCloseCode, code), reason.encode()[:120])
    transport.disconnect()
