"""A WebSocket client on a raw socket, written from RFC 6455, for frames that no library sends.

Everything it can be told to break is an argument of `encode_frame`; what comes back is kept as it
came, frame by frame.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import struct
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.support.control import TestUser
from tests.support.eventually import WAIT_S
from tests.support.news import News

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Frame(NamedTuple):
    """A frame of the server's."""

    opcode: int
    fin: bool
    payload: bytes

    @property
    def close_code(self) -> int:
        return int(struct.unpack("!H", self.payload[:2])[0]) if self.payload else 1005

    @property
    def reason(self) -> str:
        return self.payload[2:].decode()


def encode_frame(
    opcode: int,
    payload: bytes = b"",
    *,
    fin: bool = True,
    masked: bool = True,
    rsv: int = 0,
    length: int | None = None,
    length_bytes: int | None = None,
) -> bytes:
    """A frame (§5.2). `length` lies about the payload, `length_bytes` picks 0, 2 or 8."""
    size = len(payload) if length is None else length
    if length_bytes is None:
        length_bytes = 0 if size < 126 else 2 if size < 65536 else 8
    flag, extended = {
        0: (size, b""),
        2: (126, struct.pack("!H", size & 0xFFFF)),
        8: (127, struct.pack("!Q", size)),
    }[length_bytes]
    head = bytes([fin << 7 | rsv << 4 | opcode, masked << 7 | flag]) + extended
    if not masked:
        return head + payload
    key = os.urandom(4)
    return head + key + _xor(payload, key)


def _xor(payload: bytes, key: bytes) -> bytes:
    size = len(payload)
    stream = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(stream)).to_bytes(size)


class RawWs:
    """One connection. Reads in the background, so that sending much never blocks."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.frames: list[Frame] = []
        self.ended = False
        self.stays = False
        """Does not hang up when the server does."""
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._reading: asyncio.Task[None] | None = None
        self._news = News()

    async def connect(self, *, behind: bytes = b"", **headers: str) -> "RawWs":
        """The opening handshake (§4.1); `behind` travels in the same packet as the request."""
        key = base64.b64encode(os.urandom(16))
        host = self._parts.hostname or "127.0.0.1"
        self._reader, self._writer = await asyncio.open_connection(host, self._parts.port or 80)
        sent = {
            "Host": self._parts.netloc,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key.decode(),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = [f"GET {self._parts.path}?{self._parts.query} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in sent.items()]
        self._writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + behind)
        async with asyncio.timeout(WAIT_S):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.strip().split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = {
            name.lower(): value for name, value in (line.split(": ", 1) for line in rest)
        }
        if self.status == 101:
            accept = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
            assert self.headers["sec-websocket-accept"] == accept
            self._reading = asyncio.create_task(self._read())
        else:
            async with asyncio.timeout(WAIT_S):
                self.body = await self._reader.read()
            self._writer.close()
        return self

    async def __aenter__(self) -> "RawWs":
        return self if self._reading is not None else await self.connect()

    async def __aexit__(self, *_: object) -> None:
        if not self.ended or self.stays:
            self._writer.transport.abort()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)

    async def raw(self, data: bytes) -> None:
        """Bytes as they are. A peer that has hung up already is no error here."""
        with contextlib.suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()

    async def frame(self, opcode: int, payload: bytes = b"", **options: Any) -> None:
        await self.raw(encode_frame(opcode, payload, **options))

    async def text(self, text: str | bytes, **options: Any) -> None:
        await self.frame(TEXT, text.encode() if isinstance(text, str) else text, **options)

    async def send(self, message: dict[str, Any]) -> None:
        await self.text(json.dumps(message))

    async def event(self, session_id: str, content: str) -> None:
        """000 §4.2, as a `text_chunk`."""
        data = json.dumps({"type": "text_chunk", "content": content})
        await self.send({"type": "sse_event", "session_id": session_id, "data": data})

    async def authenticate(self, token: str, *capabilities: str) -> dict[str, Any]:
        """000 §9: the first frame; returns `init`."""
        await self.send({"type": "auth", "token": token, "capabilities": list(capabilities)})
        return await self.expect("init")

    def stop_reading(self) -> None:
        """From here on nothing is taken from the socket."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    def go_on_reading(self) -> None:
        self._writer.transport.resume_reading()  # type: ignore[attr-defined]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(frame.payload) for frame in self.frames if frame.opcode == TEXT]

    async def expect(
        self, kind: str, fits: Callable[[dict[str, Any]], bool] = lambda _message: True
    ) -> dict[str, Any]:
        """The first message of that type that fits."""

        def found() -> list[dict[str, Any]]:
            return [one for one in self.messages if one["type"] == kind and fits(one)]

        await self.until(lambda: bool(found()) or self.ended, f"message of type {kind!r}")
        assert found(), f"the line ended with {self.frames[-1:]} before a {kind!r} came"
        return found()[0]

    async def pong(self, payload: bytes) -> None:
        """Waits for the answer to a ping."""
        await self.until(lambda: Frame(PONG, True, payload) in self.frames, f"pong {payload!r}")

    async def closed(self) -> int:
        """The code of the close frame that really arrived; waits for the end of the socket too."""
        await self.until(lambda: self.ended, "end of the connection")
        closes = [frame for frame in self.frames if frame.opcode == CLOSE]
        assert len(closes) == 1, f"{len(closes)} close frames before the end"
        assert self.frames[-1] is closes[0], "something came after the close frame"
        return closes[0].close_code

    async def until(self, ready: Callable[[], bool], what: str) -> None:
        await self._news.until(
            ready, what, lambda: [(one.opcode, one.payload[:80]) for one in self.frames[-5:]]
        )

    async def _read(self) -> None:
        try:
            while True:
                self.frames.append(await self._read_frame())
                self._news.tell()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        if not self.stays:
            self._writer.transport.abort()
        self.ended = True
        self._news.tell()

    async def _read_frame(self) -> Frame:
        first, second = await self._reader.readexactly(2)
        assert not first & 0x70, "the server set a reserved bit"
        assert not second & 0x80, "the server masked a frame"
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await self._reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await self._reader.readexactly(8))
        return Frame(first & 0xF, bool(first & 0x80), await self._reader.readexactly(size))


async def raw_line(user: TestUser, *capabilities: str) -> RawWs:
    """A new VM of that user, connected and authenticated, on a raw socket."""
    scheduled = await user.schedule()
    line = RawWs(f"{scheduled['ws_url']}?user_id={user.id}&ticket={scheduled['ticket']}")
    await line.connect()
    await line.authenticate(scheduled["token"], *capabilities)
    return line
