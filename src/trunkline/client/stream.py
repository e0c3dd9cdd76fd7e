"""A session's events, live: taken up again after a break, with nothing lost and nothing twice.

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
from trunkline.client.log import logged
from trunkline.client.models import RESYNC, Event, Session
from trunkline.client.sse import Frame, SseParser

Sleep = Callable[[float], Awaitable[Any]]

WAITS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Before the next attempt, after one that failed, after two…"""
_READ_BYTES = 256 * 1024


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
        attempts_max: int = limits.CLIENT_STREAM_ATTEMPTS_MAX,
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
            sock_connect=limits.CLIENT_TIMEOUT_S,
            sock_read=3 * limits.READER_HEARTBEAT_S,  # silence that long is a dead connection
        )
        parser = SseParser(limits.CLIENT_EVENT_BYTES_MAX)
        self._retry_s, self._was_alive = None, False
        address = self._http.address("sessions", self._session_id, "stream")
        async with self._http.session.get(
            address, headers=headers, timeout=timeout, allow_redirects=False
        ) as answer:
            if answer.status != 200:
                await checked(answer)
                raise Unreachable(f"{self._http.url} answered {answer.status} to a stream")
            while piece := await answer.content.read(_READ_BYTES):
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
