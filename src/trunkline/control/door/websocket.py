"""Hands a connection to picows, which speaks RFC 6455 on it, and closes it gracefully.

picows parses and unmasks frames; an edge's listener gets each as a callback, with no coroutine.
"""

import asyncio
import logging
import sys
from collections.abc import Iterable
from typing import Any, Protocol, cast

import structlog
from picows import (
    WSAutoPingStrategy,
    WSCloseCode,
    WSListener,
    WSProtocolError,
    WSTransport,
    WSUpgradeResponse,
    WSUpgradeResponseWithListener,
)
from picows.picows import WSProtocol  # type: ignore[attr-defined]

from trunkline import limits
from trunkline.control.door.closing import close_gracefully
from trunkline.control.door.head import Head
from trunkline.control.door.upgrade import plain_request

_log = structlog.get_logger(__name__)
_logger = logging.getLogger("picows")
_READ_BUFFER_BYTES = 2048  # grows with the frames; an idle line keeps this


class _Buffered(Protocol):
    """The part of picows' protocol that asyncio calls."""

    def connection_made(self, transport: Any) -> None: ...
    def get_buffer(self, sizehint: int) -> memoryview: ...
    def buffer_updated(self, nbytes: int) -> None: ...


def adopt(
    transport: asyncio.Transport,
    head: Head,
    listener: WSListener,
    frame_bytes_max: int,
    subprotocol: str | None = None,
) -> None:
    """Answers the upgrade request, which the door has checked, and lets `listener` have the frames.

    `subprotocol`: the one that is chosen of those that the client offers. Browsers that offer one
    hang up unless one is chosen.

    The listener's `on_ws_disconnected` comes once or twice: when picows refuses a frame, and when
    the socket is gone. Nothing that arrives after the first is to be taken.
    """
    protocol = WSProtocol(
        None,
        None,
        False,
        lambda _request: _upgrade(listener, subprotocol),
        _Watch(listener),
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
    protocol.connection_made(Graceful(transport))
    view = memoryview(plain_request(head))
    while view and transport.get_protocol() is protocol:  # it is replaced when it refused
        view = _feed(cast(_Buffered, protocol), view)
    for kept in (protocol.transport.request, protocol.transport.response):
        if kept is not None:
            kept.headers.clear()  # picows holds on to both; nobody asks again


def _upgrade(
    listener: WSListener, subprotocol: str | None
) -> WSListener | WSUpgradeResponseWithListener:
    if subprotocol is None:
        return listener
    chosen = {"Sec-WebSocket-Protocol": subprotocol}
    return WSUpgradeResponseWithListener(WSUpgradeResponse.create_101_response(chosen), listener)


def _feed(protocol: _Buffered, view: memoryview) -> memoryview:
    """Hands over as much as there is room for; returns the rest."""
    buffer = protocol.get_buffer(len(view))
    some = min(len(buffer), len(view))
    buffer[:some] = view[:some]
    protocol.buffer_updated(some)
    return view[some:]


class Graceful:
    """The transport as picows gets it: its `close` lets the peer read our close frame first."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.within = self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def writelines(self, parts: Iterable[bytes | memoryview]) -> None:
        """picows reuses the memory of a frame's head; a transport that must wait would keep it."""
        self._transport.write(b"".join(parts))

    def close(self) -> None:
        close_gracefully(self._transport)


class _Watch(logging.LoggerAdapter[logging.Logger]):
    """picows' logger: the only place where it says that it closes a connection by itself.

    It closes on its own when a frame breaks RFC 6455, but goes on parsing for a moment, and would
    call each mistake that it finds there an error: any peer could fill the log with those. An
    adapter, because picows would make a logger of its own for every connection.
    """

    def __init__(self, listener: WSListener) -> None:
        super().__init__(_logger, {})
        self._listener = listener
        self._has_told = False

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if level < logging.ERROR:
            super().log(level, msg, *args, **kwargs)
            return
        cause = sys.exc_info()[1]  # picows logs where it catches
        if not isinstance(cause, WSProtocolError):
            super().log(level, msg, *args, **kwargs)
        elif not self._has_told:
            self._has_told = True
            _log.info(
                "a peer broke the rules of WebSocket; closing its connection",
                edge=type(self._listener).__name__,
                code=int(cause.args[0]),
                reason=str(cause.args[1]),
            )
        self._listener.on_ws_disconnected(cast(WSTransport, None))


def send_close(transport: WSTransport, code: int, reason: str) -> None:
    """Sends a close frame and closes; a peer that does not respond is cut."""
    # picows has names for the standard codes only; the number travels as it is.
    transport.send_close(cast(WSCloseCode, code), reason.encode()[:120])
    transport.disconnect()
