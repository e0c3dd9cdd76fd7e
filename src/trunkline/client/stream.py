"""A session's events, live: resumed after a break, with nothing lost and nothing twice.

The position is the last id seen, sent as `Last-Event-ID`. What the server has no longer at hand
(`resync`) is read from the log. A position that is no place in the log (it was cut off, or a backup
was restored): the log is read from its beginning.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from trunkline.client.errors import StreamBroken
from trunkline.client.http import Http
from trunkline.client.live import ATTEMPTS_MAX, Live, Sleep
from trunkline.client.models import RESYNC, Event, EventPage
from trunkline.client.sse import Frame


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


class Stream(Live[Event]):
    """`async for event in Stream(http, session_id, after=0)`; ends only with an error."""

    def __init__(
        self,
        http: Http,
        session_id: str,
        *,
        after: int,
        starts_over: bool = True,
        attempts_max: int = ATTEMPTS_MAX,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`starts_over`: what came before that position was given out to the same reader."""
        path = ("sessions", session_id, "stream")
        super().__init__(http, path, attempts_max=attempts_max, sleep=sleep)
        self._session_id = session_id
        self._starts_over = starts_over
        self.position = after
        """The last id that was given out."""

    def _headers(self) -> dict[str, str]:
        return {"Last-Event-ID": str(self.position)}

    def _lost(self, attempts: int, problem: str) -> StreamBroken:
        return StreamBroken(
            f"the stream of session {self._session_id} broke after event"
            f" {self.position} and {attempts} attempts: {problem}"
        )

    async def _take(self, frame: Frame) -> AsyncGenerator[Event, None]:
        if frame.event == "resync":
            async with aclosing(self._missed()) as missed:
                async for event in missed:
                    yield event
        elif (taken := self._taken(frame)) is not None:
            yield taken

    async def _missed(self) -> AsyncGenerator[Event, None]:
        """What a `resync` stands for, from the log. By itself it is no sign of life: what it stands
        for must also be there to read."""
        self._was_alive = False
        query = {"after": self.position, "limit": 1}
        page = await self._http.fetch(
            EventPage, "GET", "sessions", self._session_id, "events", query=query
        )
        if page.resync and self._starts_over:
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
