"""A session's events in the words of one client protocol: translated once for all its followers.

A client edge has one `Feeds` per dialect. A feed reads a log while somebody follows it; a follower
that comes back is given what it missed by a translation of its own, and joins without a gap.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from trunkline import limits
from trunkline.control.log import Batch, Log, SessionLog

_TURN_START = '"type":"user_message"'


class Message(msgspec.Struct, gc=False):
    """One message for clients, and the event that it was made of."""

    event_id: int
    body: bytes
    said: str | None = None
    """The `client_message_id` of a user's message: its sender has it already."""


Translate = Callable[[int, str], list[Message]]
"""Takes an event's id and line. Keeps the small state that a stream needs."""


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
        self.joining = 0
        """Those who are still being given what they missed."""
        self._translate = translate

    def deliver(self, batch: Batch) -> None:
        messages: list[Message] = []
        for event_id, line in enumerate(batch.lines, batch.first_id):
            messages += self._translate(event_id, line)
        self.position = batch.first_id + len(batch.lines) - 1
        if messages:
            for follower in self.followers:
                follower.take(self.log.session_id, messages)

    def resync(self) -> None:
        """The machine lost events; `session_status` in the log says so."""


class Feeds:
    """Every session that is followed in one dialect."""

    def __init__(self, log: Log, make: Callable[[str], Translate]) -> None:
        self._log = log
        self._make = make
        self._feeds: dict[str, Feed] = {}

    async def follow(self, log: SessionLog, follower: Follower, position: int | None) -> int:
        """Sends what came after `position`, however old, then goes on live: no gap, no repeat.
        None: from now on. Returns the position from which it goes on live."""
        feed = await self._feed(log)
        feed.joining += 1
        try:
            if position is not None:
                await self._replay(feed, follower, max(0, position))
            # Nothing may come between the last look at the feed's position and this.
            if follower not in feed.followers:
                feed.followers = (*feed.followers, follower)
        finally:
            feed.joining -= 1
            self._close_unused(feed)
        return feed.position

    def leave(self, session_id: str, follower: Follower) -> None:
        feed = self._feeds.get(session_id)
        if feed is None:
            return
        feed.followers = tuple(one for one in feed.followers if one is not follower)
        self._close_unused(feed)

    def _close_unused(self, feed: Feed) -> None:
        if not feed.followers and not feed.joining:
            self._feeds.pop(feed.log.session_id, None)
            feed.log.detach(feed)

    async def _feed(self, log: SessionLog) -> Feed:
        found = self._feeds.get(log.session_id)
        if found is not None:
            return found
        translate = self._make(log.session_id)
        position = await self._prime(translate, log, log.last_id)
        while position < log.last_id:
            missed = await self._between(log, position, log.last_id)
            for event_id, line in missed:
                translate(event_id, line)
            position = missed[-1][0] if missed else log.last_id
        found = self._feeds.get(log.session_id)  # another task may be faster
        if found is None:
            found = self._feeds[log.session_id] = Feed(log, translate, position)
            log.attach(found)
        return found

    async def _prime(self, translate: Translate, log: SessionLog, position: int) -> int:
        """Shows a translation what came before: all of the turn that is under way."""
        pages: list[list[tuple[int, str]]] = []
        start = position
        while start > 0 and position - start < limits.FEED_PRIME_EVENTS_MAX:
            upto, start = start, max(0, start - limits.RING_EVENTS)
            pages.append(await self._between(log, start, upto))
            if any(_TURN_START in line for _, line in pages[-1]):
                break
        for page in reversed(pages):
            for event_id, line in page:
                translate(event_id, line)
        return position

    async def _between(self, log: SessionLog, after: int, upto: int) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        while after < upto:
            page = await self._log.read(log, after, upto - after)
            if not page:
                break
            found += [event for event in page if event[0] <= upto]
            after = page[-1][0]
        return found

    async def _replay(self, feed: Feed, follower: Follower, position: int) -> None:
        if position >= feed.position:
            return
        translate = self._make(feed.log.session_id)
        await self._prime(translate, feed.log, position)
        while position < feed.position:
            page = await self._log.read(feed.log, position, limits.RING_EVENTS)
            if not page:
                break  # the session was deleted meanwhile
            messages: list[Message] = []
            for event_id, line in page:
                if event_id > feed.position:
                    break
                messages += translate(event_id, line)
                position = event_id
            follower.take(feed.log.session_id, messages)
            await follower.room()
