"""A session's events in the words of one client protocol: translated once for all its followers.

A client edge has one `Feeds` per dialect. A feed reads a log while somebody follows it; a follower
that comes back is given what it missed by a translation of its own, and joins without a gap.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from trunkline import limits
from trunkline.control.log.log import Log
from trunkline.control.log.reading import until
from trunkline.control.log.session_log import Batch, SessionLog

_FEED_STEP_BYTES = 64 * 1024  # that are translated before everybody else has a turn
_FEED_PRIME_EVENTS_MAX = 20_000  # of the turn under way, for a translation that begins in it
_TURN_START = '"type":"user_message"'
_FEED_PRIME_BYTES_MAX = 16 * limits.MIB  # the same
_EVENT_WORK = 500  # what an event costs, in bytes of its line


class Message(msgspec.Struct, gc=False):
    """One message for clients, and the event that it was made of."""

    event_id: int
    body: bytes
    said: str | None = None
    """The `client_message_id` of a user's message: its sender has it already."""


Translate = Callable[[int, list[str]], list[Message]]
"""Takes the lines of consecutive events and the first one's id: many come at once, and a loop
inside of it costs less than a call for each. Keeps the small state that a stream needs."""


class Follower(Protocol):
    """A client that follows sessions. `take` neither raises nor waits."""

    def take(self, session_id: str, messages: list[Message]) -> None: ...

    async def room(self) -> None:
        """Returns when the client has read most of what it was sent."""


class Feed:
    """One session for all followers of one dialect. A `Reader` of its log."""

    def __init__(self, log: SessionLog, translate: Translate, position: int) -> None:
        self.log = log
        self.position = position
        self.followers: tuple[Follower, ...] = ()
        self.translate = translate

    def deliver(self, batch: Batch) -> None:
        messages = self.translate(batch.first_id, batch.lines)
        self.position = batch.first_id + len(batch.lines) - 1
        if messages:
            for follower in self.followers:
                follower.take(self.log.session_id, messages)

    def resync(self) -> None:
        """The machine lost events; `session_status` in the log says so."""


class Feeds:
    """Every session that is followed in one dialect."""

    def __init__(
        self,
        log: Log,
        make: Callable[[str], Translate],
        prime_bytes_max: int = _FEED_PRIME_BYTES_MAX,
    ) -> None:
        self._log = log
        self._make = make
        self._prime_bytes_max = prime_bytes_max
        self._feeds: dict[str, Feed] = {}

    async def follow(
        self,
        log: SessionLog,
        follower: Follower,
        position: int | None,
        begins: Callable[[Translate], None] | None = None,
        *,
        partly: bool = False,
    ) -> int:
        """Sends what came after `position`, however old, then goes on live: no gap, no repeat.
        None: from now on. Returns the position from which it goes on live.

        `begins` is shown a translation that has come to the position, before anything is sent; with
        `partly` (the follower has some messages of the next event) behind that event."""
        at = log.last_id if position is None else position
        at = min(max(log.first_id - 1, at), log.last_id)
        feed = self._feeds.get(log.session_id)
        if feed is None or at < log.last_id:
            translate = self._make(log.session_id)
            await self._prime(translate, log, at)
            if partly:
                at = await self._replay(translate, log, at, follower, at + 1)
            if begins is not None:
                begins(translate)
            await self._replay(translate, log, at, follower)
            # Nothing may come between the last look at the log's end and the end of this.
            feed = self._feeds.get(log.session_id) or self._open(log, translate)
        elif begins is not None:
            begins(feed.translate)
        if follower not in feed.followers:
            feed.followers = (*feed.followers, follower)
        return feed.position

    def translation(self, session_id: str) -> Translate | None:
        """Of a session that is followed live."""
        feed = self._feeds.get(session_id)
        return None if feed is None else feed.translate

    async def translated(
        self, log: SessionLog, events: list[tuple[int, str]]
    ) -> dict[int, list[Message]]:
        """What a follower is sent of these consecutive events, by their ids."""
        translate = self._make(log.session_id)
        found: dict[int, list[Message]] = {}
        if events:
            await self._prime(translate, log, events[0][0] - 1)
        for message in await _translated(translate, events):
            found.setdefault(message.event_id, []).append(message)
        return found

    def leave(self, session_id: str, follower: Follower) -> None:
        feed = self._feeds.get(session_id)
        if feed is None:
            return
        feed.followers = tuple(one for one in feed.followers if one is not follower)
        if not feed.followers:
            del self._feeds[session_id]
            feed.log.detach(feed)

    def _open(self, log: SessionLog, translate: Translate) -> Feed:
        """With a translation that has seen all of the log."""
        feed = self._feeds[log.session_id] = Feed(log, translate, log.last_id)
        log.attach(feed)
        return feed

    async def _prime(self, translate: Translate, log: SessionLog, position: int) -> None:
        """Shows a translation what came before: all of the turn that is under way."""
        start = await self._turn_start(log, position)
        async for page in self._log.pages(log, start, position):
            await _translated(translate, page)

    async def _turn_start(self, log: SessionLog, position: int) -> int:
        """A place before the start of the turn, as far as that is looked for."""
        start, count, size = position, 0, 0
        async for page in self._log.back(log, position, limits.RING_EVENTS):
            start, count = page[0][0] - 1, count + len(page)
            size += sum(len(line) for _, line in page)
            if (
                any(_TURN_START in line for _, line in page)
                or count >= _FEED_PRIME_EVENTS_MAX
                or size >= self._prime_bytes_max
            ):
                break
        return start

    async def _replay(
        self,
        translate: Translate,
        log: SessionLog,
        position: int,
        follower: Follower,
        end: int = limits.JSON_INT_MAX,
    ) -> int:
        """Up to that end, or all that there is. Returns how far it came."""
        log.reads += 1
        try:
            # The disk may have more than was delivered yet: that comes live.
            while (upto := min(end, log.last_id)) > position:
                page = until(await self._log.read(log, position, limits.RING_EVENTS), upto)
                # Without one there is a gap up to there, or the session was deleted meanwhile.
                position = page[-1][0] if page else upto
                if page:
                    follower.take(log.session_id, await _translated(translate, page))
                    await follower.room()
        finally:
            log.reads -= 1
        return position


async def _translated(translate: Translate, events: list[tuple[int, str]]) -> list[Message]:
    """All their messages. However many there are, nobody else waits long."""
    messages: list[Message] = []
    step: list[str] = []
    work = first = 0
    for event_id, line in events:
        if step and (work > _FEED_STEP_BYTES or event_id != first + len(step)):  # or: a gap
            messages += translate(first, step)
            if work > _FEED_STEP_BYTES:
                await asyncio.sleep(0)
            step, work = [], 0
        if not step:
            first = event_id
        step.append(line)
        work += _EVENT_WORK + len(line)
    if step:
        messages += translate(first, step)
    return messages
