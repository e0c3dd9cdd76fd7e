"""Messages out of WebSocket frames: joining fragments, checking text (RFC 6455 §5.4, §8.1).

The frame parser below us delivers frames; this turns them into whole text messages. It holds
only what an unfinished message has brought so far.
"""

from collections.abc import Iterable
from typing import Final

from trunkline.wire.errors import CloseLine

CONTINUATION: Final = 0x0
TEXT: Final = 0x1
BINARY: Final = 0x2

PROTOCOL_ERROR: Final = 1002
UNSUPPORTED_DATA: Final = 1003
INVALID_TEXT: Final = 1007
MESSAGE_TOO_BIG: Final = 1009


class Assembler:
    """Joins the fragments of one connection's text messages."""

    __slots__ = ("_parts", "bytes_max")

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        """Of one message; may grow once a peer is known."""
        self._parts: bytearray | None = None

    @property
    def idle(self) -> bool:
        """No unfinished message: a final text frame is a message by itself."""
        return self._parts is None

    def feed(self, opcode: int, final: bool, payload: bytes) -> bytes | None:
        """One data frame in; the whole message out, once its last fragment is here."""
        if opcode == BINARY:
            raise CloseLine(UNSUPPORTED_DATA, "binary frames are not part of this protocol")
        if opcode == CONTINUATION:
            if self._parts is None:
                raise CloseLine(PROTOCOL_ERROR, "continuation without a message")
        elif self._parts is not None:
            raise CloseLine(PROTOCOL_ERROR, "new message before the last one was finished")
        if len(self._parts or b"") + len(payload) > self.bytes_max:
            raise CloseLine(MESSAGE_TOO_BIG, f"message over {self.bytes_max} bytes")
        if final and self._parts is None:
            return payload
        if self._parts is None:
            self._parts = bytearray()
        self._parts += payload
        if not final:
            return None
        whole, self._parts = bytes(self._parts), None
        return whole


def check_text(payload: bytes) -> None:
    """Text must be UTF-8; anything else ends the connection with 1007."""
    try:
        payload.decode()
    except UnicodeDecodeError as error:
        raise CloseLine(INVALID_TEXT, "text that is not UTF-8") from error


def _text_head(size: int) -> bytes:
    """What stands before a server's text message of that size."""
    if size < 126:
        return bytes((0x81, size))
    if size < 65536:
        return b"\x81\x7e" + size.to_bytes(2, "big")
    return b"\x81\x7f" + size.to_bytes(8, "big")


_TEXT_HEADS: Final = [_text_head(size) for size in range(1024)]
"""Made once: nearly all messages are short."""


def text_frames(messages: Iterable[bytes]) -> bytes:
    """A server's text messages as one piece of bytes: many messages, one write."""
    parts: list[bytes] = []
    heads, heads_max = _TEXT_HEADS, len(_TEXT_HEADS)
    for message in messages:
        size = len(message)
        parts.append(heads[size] if size < heads_max else _text_head(size))
        parts.append(message)
    return b"".join(parts)
