"""An SSE reader on a raw socket: what it shows is what was on the wire."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.support.eventually import WAIT_S


class Event(NamedTuple):
    """One event as it came: its id (None when it had none), its name and its data."""

    id: int | None
    name: str
    data: str
    session: str = ""
    """Whose it is, on a stream of several."""

    @property
    def json(self) -> Any:
        return json.loads(self.data)


class SseReader:
    """Follows a stream until it ends or is left."""

    def __init__(
        self,
        url: str,
        session_id: str,
        token: str | None,
        *,
        last_event_id: str | int | None = 0,
        header: str | int | None = None,
        path: str | None = None,
        **headers: str,
    ) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        query = "" if last_event_id is None else f"?last_event_id={last_event_id}"
        lines = [
            f"GET {path or f'/api/v1/sessions/{session_id}/stream{query}'} HTTP/1.1",
            f"Host: {parts.netloc}",
        ]
        if token is not None:
            lines.append(f"Authorization: Bearer {token}")
        if header is not None:
            lines.append(f"Last-Event-ID: {header}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._request = "\r\n".join(lines).encode() + b"\r\n\r\n"
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.events: list[Event] = []
        self.comments: list[str] = []
        self.ended = False
        self._reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    async def open(self, *, read: bool = True, limit: int = 2**16) -> "SseReader":
        """Sends the request and reads the answer's head; with `read=False`, nothing more."""
        self._reader, self.writer = await asyncio.open_connection(
            self._host, self._port, limit=limit
        )
        self.writer.write(self._request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = {
            name.lower(): value for name, value in (line.split(": ", 1) for line in lines)
        }
        if read:
            self._reading = asyncio.create_task(self._read())
        return self

    async def __aenter__(self) -> "SseReader":
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def leave(self) -> None:
        self.writer.transport.abort()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)

    @property
    def ids(self) -> list[int]:
        return [event.id for event in self.events if event.id is not None]

    @property
    def last_id(self) -> int:
        return max(self.ids, default=0)

    def texts(self) -> list[str]:
        """The contents of the `text_chunk`s, in order."""
        return [
            event.json["content"]
            for event in self.events
            if event.id is not None and event.json.get("type") == "text_chunk"
        ]

    async def until(self, ready: Callable[["SseReader"], bool], what: str = "that") -> None:
        async with self._news:
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._news.wait_for(lambda: ready(self))
            except TimeoutError:
                raise AssertionError(
                    f"no {what} within {WAIT_S:.0f} s; last events {str(self.events[-5:])[:1000]}"
                ) from None

    async def until_count(self, count: int) -> None:
        await self.until(lambda reader: len(reader.ids) >= count, f"{count} events")

    async def until_text(self, text: str) -> None:
        await self.until(lambda reader: text in reader.texts(), f"text {text!r}")

    async def until_type(self, kind: str) -> Any:
        """The first event of that type."""

        def found(reader: "SseReader") -> list[Any]:
            return [
                event.json
                for event in reader.events
                if event.id is not None and event.json.get("type") == kind
            ]

        await self.until(lambda reader: bool(found(reader)), f"event of type {kind!r}")
        return found(self)[0]

    async def until_resync(self) -> None:
        """It asked for more than is kept at hand, and follows from now on."""
        await self.until(
            lambda reader: any(event.name == "resync" for event in reader.events), "resync"
        )

    async def until_ended(self) -> None:
        await self.until(lambda reader: reader.ended, "end of the stream")

    async def _read(self) -> None:
        rest = b""
        try:
            while data := await self._reader.read(2**16):
                *blocks, rest = (rest + data).split(b"\n\n")
                async with self._news:
                    for block in blocks:
                        self._take(block.decode())
                    self._news.notify_all()
        except ConnectionError:
            pass
        async with self._news:
            self.body = rest
            self.ended = True
            self._news.notify_all()

    def _take(self, block: str) -> None:
        number: int | None = None
        session, name, data = "", "message", []
        for line in block.split("\n"):
            if line.startswith(":"):
                self.comments.append(line[1:].strip())
                continue
            field, _, value = line.partition(": ")
            if field == "id":
                session, _, digits = value.rpartition(":")
                number = int(digits)
            elif field == "event":
                name = value
            elif field == "data":
                data.append(value)
        if data:
            self.events.append(Event(number, name, "\n".join(data), session))
