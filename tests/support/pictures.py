"""Pictures for tests, made with Pillow."""

import base64
import io
import struct
import zlib
from typing import Any

from PIL import Image


def picture(width: int = 4, height: int = 3, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(out, kind, **options)
    return out.getvalue()


def bomb(side: int = 60_000) -> bytes:
    """A small PNG that unpacks to gigabytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1_000_000), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def attached(data: bytes, name: str = "dot.png", mime: str = "image/png") -> dict[str, str]:
    return {"name": name, "mime": mime, "base64": base64.b64encode(data).decode()}
