"""A WebSocket of JSON text messages, as every edge uses it.

Joins fragments, checks text, answers pings, bounds what is unsent, and says goodbye. An edge
overrides `opened`, `take` and `ended`; what it cannot take it raises as `CloseLine`.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import cast

import structlog
from picows import WSFrame, WSListener, WSMsgType, WSTransport

from trunkline.control.clock import Seconds
from trunkline.control.door.websocket import Graceful, send_close
from trunkline.control.machines.tap import Tap
from trunkline.wire.errors import CloseLine
from trunkline.wire.frames import (
    INVALID_TEXT,
    PROTOCOL_ERROR,
    Assembler,
    check_text,
    text_frames,
)
from trunkline.wire.rate import RATE_LIMITED, RateLimit

_log = structlog.get_logger(__name__)

_TEXT, _BINARY, _CONTINUATION = WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION
_PING, _CLOSE = WSMsgType.PING, WSMsgType.CLOSE
_NO_CODE = 1005
"""RFC 6455 §7.1.5: what stands for the code of a close frame without one."""


class Socket(WSListener):
    """One connection."""

    __slots__ = (
        "_assembler",
        "_bytes_max",
        "_drained",
        "_is_known",
        "_is_plain",
        "_now",
        "_rate",
        "_texts",
        "_transport",
        "_unsent_max",
        "is_open",
        "last_seen",
    )
    internal_error = 1011
    """What it is closed with when a message could not be handled."""

    def __init__(
        self,
        *,
        bytes_max: int,
        per_minute: int,
        unsent_max: int,
        early_bytes_max: int | None = None,
        now: Seconds = time.monotonic,
    ) -> None:
        """`early_bytes_max`: of a message until the edge says `known`."""
        self._now = now
        self.last_seen = self._now()
        """When the peer last said anything, pings included."""
        self.is_open = False
        self._bytes_max = bytes_max
        self._assembler = Assembler(bytes_max if early_bytes_max is None else early_bytes_max)
        self._is_known = early_bytes_max is None
        self._rate = RateLimit(per_minute) if per_minute else None
        self._unsent_max = unsent_max
        self._texts: list[str] = []
        self._is_plain = False
        """A final text frame is a message, and all there is to do with it is to take it."""
        self._transport: WSTransport
        self._drained: asyncio.Event | None = None
        """There only while much is unsent: most connections never need one."""

    def opened(self) -> None:
        """The connection is there."""

    def take(self, text: str) -> None:
        """One message."""
        raise NotImplementedError

    def take_all(self, texts: list[str]) -> None:
        """The messages that one read of the socket brought; for an edge with a stream to carry."""
        for text in texts:
            if not self.is_open:
                return
            try:
                self.take(text)
            except Exception as error:
                self.failed(error)

    def tapped(self) -> Tap | None:
        """Where its messages are kept word for word, if anybody looks at them."""
        return None

    def ended_by_peer(self, code: int) -> None:
        """The peer says goodbye, with that close code; 1005: with none."""

    def ended(self) -> None:
        """The connection is gone, whoever ended it. Comes once."""

    def known(self) -> None:
        """Who speaks here is known by now, and may send messages of full size."""
        self._is_known = True
        self._assembler.bytes_max = self._bytes_max
        self._is_plain = self.is_open and self._assembler.idle

    def count(self) -> None:
        """Counts a message against the rate limit."""
        if self._rate is not None and not self._rate.count(self._now()):
            raise CloseLine(RATE_LIMITED, "too many messages in a minute")

    def send(self, *messages: bytes) -> None:
        self.send_all(messages)

    def send_all(self, messages: Iterable[bytes]) -> None:
        """Text messages, in one write."""
        if not self.is_open:
            return
        transport = self._transport.underlying_transport
        if transport.get_write_buffer_size() > self._unsent_max:
            # It does not read. It is cut here, slows nobody, and catches up when it comes back.
            _log.warning("a peer does not read; cutting its connection", edge=type(self).__name__)
            transport.abort()
        else:  # whatever its size: a large message is no sign of a slow peer
            transport.write(text_frames(messages))

    @property
    def transport(self) -> asyncio.Transport:
        """The connection as the door has it."""
        return cast(Graceful, self._transport.underlying_transport).within

    async def room(self) -> None:
        """Returns when most of what was sent is read; at once when the connection is gone."""
        if self._drained is not None:
            await self._drained.wait()

    def pause(self, paused: bool) -> None:
        """While the disk does not keep up, machines are not read."""
        if self.is_open:
            transport = self._transport.underlying_transport
            transport.pause_reading() if paused else transport.resume_reading()

    def close(self, code: int, reason: str) -> None:
        """Says why, and ends it; nothing is taken any more."""
        if self.is_open:
            self._end()
            send_close(self._transport, code, reason)

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        self.is_open = True
        self._is_plain = self._is_known
        self.opened()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        try:
            if (
                self._is_plain
                and frame.msg_type == _TEXT
                and frame.fin
                and not (frame.rsv1 or frame.rsv2 or frame.rsv3)
            ):
                self._texts.append(frame.get_payload_as_utf8_text())
                if frame.last_in_buffer:
                    self._take_texts()
            else:
                self._take_texts()
                self._any_frame(frame)
        except Exception as error:
            self._take_texts()
            self.failed(error)

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._end()

    def pause_writing(self) -> None:
        if self._drained is None:
            self._drained = asyncio.Event()

    def resume_writing(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None:
            drained.set()

    def _take_texts(self) -> None:
        self.last_seen = self._now()
        if self._texts:
            texts, self._texts = self._texts, []
            if (tap := self.tapped()) is None:
                self.take_all(texts)
            else:
                self._take_by_tap(tap, texts)

    def _take_by_tap(self, tap: Tap, texts: list[str]) -> None:
        """One after the other, so that it is known what became of each."""
        for text in texts:
            if not self.is_open:
                return  # what one of them has ended does not go on with the next
            tap.take(self.take_all, text)

    def failed(self, error: Exception) -> None:
        match error:
            case CloseLine():
                self.close(error.code, error.reason)
            case UnicodeDecodeError():
                self.close(INVALID_TEXT, "text that is not UTF-8")
            case _:
                _log.error("a message could not be handled", exc_info=error)
                self.close(self.internal_error, "internal error")

    def _any_frame(self, frame: WSFrame) -> None:
        if not self.is_open:
            return
        if frame.rsv1 or frame.rsv2 or frame.rsv3:
            raise CloseLine(PROTOCOL_ERROR, "reserved bits without an extension")
        kind = frame.msg_type
        if kind == _PING:
            self._transport.send_pong(frame.get_payload_as_bytes())
        elif kind == _CLOSE:
            payload = frame.get_payload_as_bytes()
            self.ended_by_peer(int.from_bytes(payload[:2]) if len(payload) >= 2 else _NO_CODE)
            self.close(1000, "")
        elif kind in (_TEXT, _BINARY, _CONTINUATION):
            opcode = 0 if kind == _CONTINUATION else 1 if kind == _TEXT else 2
            whole = self._assembler.feed(opcode, frame.fin, frame.get_payload_as_bytes())
            self._is_plain = self._is_known and self._assembler.idle
            if whole is not None:
                check_text(whole)
                if (tap := self.tapped()) is None:
                    self.take(whole.decode())
                else:
                    self._take_by_tap(tap, [whole.decode()])

    def _end(self) -> None:
        if not self.is_open:
            return
        self.is_open = self._is_plain = False
        self._texts = []
        self.resume_writing()
        self.ended()
