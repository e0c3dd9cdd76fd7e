"""A bare TCP connection to the door, and requests written by hand."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

from tests.support.control import Control
from tests.support.eventually import WAIT_S as WAIT_S


class Wire:
    """A bare TCP connection to the door."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self.host = urlsplit(control.url).netloc
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def __aenter__(self) -> "Wire":
        parts = urlsplit(self._control.url)
        self.reader, self.writer = await asyncio.open_connection(parts.hostname, parts.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()
        await asyncio.sleep(0)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(WAIT_S):
            raw = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = raw.strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        return int(first.split(" ")[1]), headers

    async def answer(self) -> tuple[int, Any]:
        """Status and decoded JSON body of the next answer."""
        status, headers = await self.head()
        async with asyncio.timeout(WAIT_S):
            return status, json.loads(await self.reader.readexactly(int(headers["content-length"])))

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(WAIT_S):
            return await self.reader.read()


def get(path: str, host: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {host}", *headers, "", ""]).encode()


def upgrade(path: str, host: str, *headers: str) -> bytes:
    usual = (
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    return get(path, host, *usual, *headers)
