"""WebSocket frames as a client makes them, encoded and masked ahead of the measurement.

Used by the generator only; no sockets here.
"""

import base64
import hashlib
import os
from typing import Final

ZERO_MASK: Final = bytes(4)
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT: Final = 0x81


def text_frame(payload: bytes, mask: bytes) -> bytes:
    """A final text frame with this mask key."""
    size = len(payload)
    if size < 126:
        head = bytes((_TEXT, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((_TEXT, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((_TEXT, 0x80 | 127)) + size.to_bytes(8, "big")
    return head + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """XOR with the repeated key, as one big integer: no loop per byte."""
    if mask == ZERO_MASK:
        return payload
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    both = int.from_bytes(payload, "little") ^ int.from_bytes(key, "little")
    return both.to_bytes(size, "little")


def upgrade_request(path: str, port: int) -> tuple[bytes, bytes]:
    """The handshake, and the accept value that must come back."""
    key = base64.b64encode(os.urandom(16))
    digest = hashlib.sha1(key + _GUID, usedforsecurity=False).digest()
    head = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key.decode()}\r\n\r\n"
    )
    return head.encode(), base64.b64encode(digest)


def get_request(path: str, port: int, headers: dict[str, str]) -> bytes:
    """The request of an SSE reader."""
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n"
    return f"{head}{extra}\r\n".encode()


def unchunked(body: bytes) -> bytes:
    """The bytes inside HTTP chunks; an unfinished last chunk is given as far as it came."""
    parts = []
    at = 0
    while (line_end := body.find(b"\r\n", at)) >= 0:
        size = int(body[at:line_end].split(b";")[0], 16)
        if size == 0:
            break
        start = line_end + 2
        parts.append(body[start : start + size])
        at = start + size + 2
    return b"".join(parts)


def unframed(body: bytes) -> list[bytes]:
    """The payloads of a server's frames, which are not masked; an unfinished last one is left."""
    payloads = []
    at = 0
    while at + 2 <= len(body):
        size, start = body[at + 1], at + 2
        if size >= 126:
            wide = 2 if size == 126 else 8
            size, start = int.from_bytes(body[start : start + wide], "big"), start + wide
        if start + size > len(body):
            break
        payloads.append(body[start : start + size])
        at = start + size
    return payloads
