"""A session's events, live: resumed after a break, with nothing lost and nothing twice.

The position is the last id seen, sent as `Last-Event-ID`. The server's wish when to come back
(`retry`) is kept; else the wait grows with each attempt that brings nothing. What the server has
no longer at hand (`resync`) is read from the log. A position beyond the log's end is one of another
log (a backup was restored): this one is read from its beginning.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import aiohttp
import msgspec

from trunkline import limits
from trunkline.client.errors import ApiError, StreamBroken, Unreachable
from trunkline.client.http import Http, checked, reason
from trunkline.client.models import RESYNC, Event, EventPage, Session

Sleep = Callable[[float], Awaitable[Any]]

WAITS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Before the next attempt, after one that failed, after two…"""
_READ_BYTES = 256 * 1024
_EVENT_BYTES_MAX = 2 * limits.FRAME_BYTES_MAX
_ATTEMPTS_MAX = 12  # in a row, without a single event: about half a minute


class Frame(msgspec.Struct, frozen=True):
    """One dispatched event."""

    id: str | None
    event: str
    data: str


class SseParser:
    """Feed it what arrives; it gives frames as they become complete. No I/O.

    Follows the WHATWG definition: any of the three line ends, comments, fields without a value.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._rest = b""
        self._held = 0
        self._id: str | None = None
        self._event = ""
        self._data: list[str] = []
        self.retry_ms: int | None = None
        """How long the server asks its readers to wait before they come back."""

    def feed(self, piece: bytes) -> list[Frame]:
        """StreamBroken when one event is larger than is allowed."""
        text = self._rest + piece
        # A CR at the end may be half of a CRLF: it waits for the next piece.
        cut = len(text) - 1 if text.endswith(b"\r") else len(text)
        lines = text[:cut].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + text[cut:]
        frames = [frame for line in lines if (frame := self._take(line)) is not None]
        if self._held + len(self._rest) > self._bytes_max:
            raise StreamBroken(f"an event of the stream has more than {self._bytes_max} bytes")
        return frames

    def _take(self, line: bytes) -> Frame | None:
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            return None
        self._held += len(line)
        name, _, value = line.decode("utf-8", "replace").lstrip("\ufeff").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit() and len(value) < 10:
                self.retry_ms = int(value)
            case _:
                pass
        return None

    def _dispatch(self) -> Frame | None:
        data, event, number = self._data, self._event, self._id
        self._data, self._event, self._id, self._held = [], "", None, 0
        if not data:
            return None
        return Frame(number, event or "message", "\n".join(data))


async def logged(http: Http, session_id: str, after: int) -> AsyncGenerator[Event, None]:
    """The log up to now, page by page."""
    position: int | None = after
    while position is not None:
        page = await http.fetch(
            EventPage, "GET", "sessions", session_id, "events", query={"after": position}
        )
        for entry in page.items:
            yield entry.as_event()
        position = page.next_after


class Stream:
    """`async for event in Stream(http, session_id, after=0)`; ends only with an error.

    Whoever leaves the loop and lives on closes it: `async with aclosing(aiter(stream)) as events`.
    """

    def __init__(
        self,
        http: Http,
        session_id: str,
        *,
        after: int,
        attempts_max: int = _ATTEMPTS_MAX,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._http = http
        self._session_id = session_id
        self.position = after
        """The last id that was given out."""
        self._attempts_max = attempts_max
        self._sleep = sleep
        self._retry_s: float | None = None
        self._was_alive = False
        """Whether the last connection brought anything, if only a heartbeat. A `resync` is nothing
        yet: what it stands for must also be there to read."""

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        failures = 0
        while True:
            problem = "the server ended the stream"
            try:
                async with aclosing(self._connection()) as events:
                    async for event in events:
                        yield event
            except ApiError as error:
                if not error.is_passing:
                    raise
                problem = error.message
            except (aiohttp.ClientError, TimeoutError, Unreachable) as error:
                problem = reason(error)
            failures = 1 if self._was_alive else failures + 1
            if failures > self._attempts_max:
                raise StreamBroken(
                    f"the stream of session {self._session_id} broke after event"
                    f" {self.position} and {failures} attempts: {problem}"
                )
            wait_s = WAITS_S[min(failures, len(WAITS_S)) - 1]
            await self._sleep(max(wait_s, self._retry_s or 0.0))

    async def _connection(self) -> AsyncGenerator[Event, None]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.position)}
        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=self._http.timeout_s,
            sock_read=3 * limits.READER_HEARTBEAT_S,  # silence that long is a dead connection
        )
        parser = SseParser(_EVENT_BYTES_MAX)
        self._retry_s, self._was_alive = None, False
        address = self._http.address("sessions", self._session_id, "stream")
        async with self._http.session.get(
            address, headers=headers, timeout=timeout, allow_redirects=False
        ) as response:
            if response.status != 200:
                await checked(response)
                raise Unreachable(f"{self._http.url} answered {response.status} to a stream")
            while piece := await response.content.read(_READ_BYTES):
                self._was_alive = True
                for frame in parser.feed(piece):
                    if frame.event == "resync":
                        async with aclosing(self._missed()) as missed:
                            async for event in missed:
                                yield event
                    elif (taken := self._taken(frame)) is not None:
                        yield taken
                if parser.retry_ms is not None:
                    self._retry_s = min(parser.retry_ms / 1000, WAITS_S[-1])

    async def _missed(self) -> AsyncGenerator[Event, None]:
        """What a `resync` stands for, from the log."""
        self._was_alive = False
        session = await self._http.fetch(Session, "GET", "sessions", self._session_id)
        if self.position > session.last_event_id:
            self.position = 0
        yield RESYNC
        async with aclosing(logged(self._http, self._session_id, self.position)) as events:
            async for event in events:
                self._was_alive = True
                self.position = max(self.position, event.id or 0)
                yield event
        self._was_alive = True

    def _taken(self, frame: Frame) -> Event | None:
        number = _number(frame.id or "")
        if frame.event != "message" or number is None or number <= self.position:
            return None
        self.position = number
        try:
            data = msgspec.json.decode(frame.data)
        except (msgspec.DecodeError, RecursionError):
            data = None
        if not isinstance(data, dict):
            data = {"type": "", "raw": frame.data}
        return Event(number, data)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
