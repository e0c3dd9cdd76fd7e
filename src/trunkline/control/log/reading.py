"""The log's reading half: replay from the ring or from disk, and pages in either direction.

Ids grow, and that is all: after a restore there is a gap in them, and a log whose front was cut
begins late. Knows the store and a session's log in memory, and nothing of how events are written.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from itertools import islice

from trunkline import limits
from trunkline.control.gathering import Gathering
from trunkline.control.log.session_log import Batch, Reader, SessionLog
from trunkline.control.log.store import Head, Logged, SegmentStore, Stored
from trunkline.control.tuning import Tuning

Page = list[tuple[int, str]]
"""Events with their ids, in order."""


class LogReading:
    """What `Log` offers to readers."""

    def __init__(self, store: SegmentStore, tuning: Tuning) -> None:
        self._store = store
        self._page_bytes_max = tuning.events_page_bytes_max
        self._ring_bytes_max = tuning.ring_bytes_max
        self._filled = Gathering(self._fill_rings)

    async def follow(self, session: SessionLog, reader: Reader, position: int | None) -> None:
        """Replays after `position`, then goes on live: no gap, no repeat between the two.

        A position that the ring no longer holds, that was cut off or was never given out, is a
        `resync`, and the reader goes on from now.
        """
        is_filled = False
        while True:
            if position is None or not _is_near(session, position):
                reader.resync()
                break
            lines = session.after(position)
            if lines is None:
                # Not all in memory (after a restart): take the older part from disk, and look
                # again, because the log went on meanwhile.
                if not is_filled:
                    await self._filled.get((session, position))
                    is_filled = True
                    continue
                reader.resync()  # not there, or too large for the ring
                break
            if lines:
                reader.deliver(Batch(position + 1, lines))
            break
        session.attach(reader)

    async def _fill_rings(
        self, wanted: list[tuple[SessionLog, int]]
    ) -> dict[tuple[SessionLog, int], None]:
        """Once for all who come back to the same position."""
        positions: dict[SessionLog, list[int]] = {}
        for session, position in wanted:
            positions.setdefault(session, []).append(position)
        await asyncio.gather(*(self._fill_back(*one) for one in positions.items()))
        return {}

    async def _fill_back(self, session: SessionLog, positions: list[int]) -> None:
        """The nearest first: each of the others needs only what is before."""
        for position in sorted(positions, reverse=True):
            await self._fill_ring(session, position)

    async def _fill_ring(self, session: SessionLog, position: int) -> None:
        """Takes in what came after that position, if all of it has room."""
        upto = session.last_id - len(session.ring)
        older: list[str] = []
        async for page in self.pages(session, position, upto):
            older += [line for _, line in page]
            if sum(map(len, older)) > self._ring_bytes_max:
                return
        if len(older) != upto - position or session.last_id - len(session.ring) != upto:
            return  # the session was deleted, another reader filled it, or it has moved on
        session.ring = deque([*older, *session.ring], maxlen=limits.RING_EVENTS)
        trim(session.ring, self._ring_bytes_max)

    async def holds(self, session: SessionLog, position: int) -> bool:
        """Whether that is a place in this log: all that came after it is there to be read. It is
        not where the front was cut off, or in the gap that a restore leaves."""
        if position == session.last_id:
            return True
        if not session.first_id - 1 <= position < session.last_id:
            return False
        if position >= session.last_id - len(session.ring):
            return True
        found = await self._store.read(session.session_id, max(0, position - 1), 1)
        return bool(found) and found[0][0] <= position + 1

    async def read(self, session: SessionLog, after: int, limit: int) -> Page:
        """Committed events after that id, from memory or disk, however old. Up to `limit`; fewer
        where they are large, so a short page is not the last one."""
        after = max(0, after)
        lines = session.after(after) if after <= session.last_id else []
        if lines is not None:
            return list(enumerate(lines[:limit], after + 1))
        return await self._store.read(session.session_id, after, limit)

    async def entries(
        self, session_id: str, after_id: int, after_note: int
    ) -> AsyncIterator[list[Logged]]:
        """All committed events and notes behind these positions, in their order, page by page."""
        while page := await self._store.entries(session_id, after_id, after_note):
            after_id = max(after_id, page[-1].event_id)
            after_note = max([after_note, *(one.note for one in page)])
            yield page

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        """The oldest of what is kept, unread."""
        return await self._store.front(session_id, limit)

    async def folded(self, session_id: str) -> Head | None:
        """What a log is when all of it has the form in which it is kept: before, it looks larger
        than it will be."""
        await self._store.fold(all=True)
        return (await self._store.heads([session_id])).get(session_id)

    async def pages(self, session: SessionLog, after: int, upto: int) -> AsyncIterator[Page]:
        """All events after one id up to another, however large. Nothing of it is cut meanwhile."""
        after = max(after, session.first_id - 1)
        with session.kept():
            while after < upto:
                found = await self.read(session, after, min(upto - after, limits.EVENTS_PAGE_MAX))
                page = until(found, upto)
                if not page:
                    break  # there is no more before a gap, or the session was deleted meanwhile
                after = page[-1][0]
                yield page

    async def back(
        self, session: SessionLog, upto: int, limit: int = limits.EVENTS_PAGE_MAX
    ) -> AsyncIterator[Page]:
        """All events up to an id: the newest page first, each in order."""
        before = min(upto, session.last_id) + 1
        while before > session.first_id:
            page = await self._before(session, before, limit)
            if not page:
                break
            before = page[0][0]
            yield page

    async def _before(self, session: SessionLog, before: int, limit: int) -> Page:
        oldest = session.last_id - len(session.ring) + 1  # in memory
        first = max(before - limit, session.first_id)
        if oldest <= first:
            lines = islice(session.ring, first - oldest, before - oldest)
            return list(enumerate(lines, first))
        return await self._store.read_back(session.session_id, before, limit)

    async def newest(self, session: SessionLog, upto: int, count: int) -> Page:
        """The last events up to an id: that many, or those that fit into a page."""
        events: deque[tuple[int, str]] = deque()
        size = 0
        async for page in self.back(session, upto, min(count, limits.EVENTS_PAGE_MAX)):
            events.extendleft(reversed(page))
            size += sum(len(line) for _, line in page)
            if len(events) >= count or size > self._page_bytes_max:
                break
        while len(events) > count or (size > self._page_bytes_max and len(events) > 1):
            size -= len(events.popleft()[1])
        return list(events)

    async def place_before(self, session: SessionLog, count: int, upto: int | None = None) -> int:
        """The position behind which the newest events are, that many, up to an id or the end."""
        place = session.last_id if upto is None else min(upto, session.last_id)
        near = max(place - count, session.first_id - 1)
        if await self.holds(session, near):
            return near  # there is no gap, nearly always
        async for page in self.back(session, place):
            if len(page) >= count:
                return page[-count][0] - 1
            place, count = page[0][0] - 1, count - len(page)
        return place


def _is_near(session: SessionLog, position: int) -> bool:
    """Whether the ring may hold all that came after."""
    oldest = max(session.first_id - 1, session.last_id - limits.RING_EVENTS)
    return oldest <= position <= session.last_id


def until(page: Page, upto: int) -> Page:
    """Without what is behind that id: a page is counted, and ids may have a gap."""
    if not page or page[-1][0] <= upto:
        return page
    return [one for one in page if one[0] <= upto]


def trim(ring: deque[str], bytes_max: int) -> None:
    """Lets go of the oldest events of a ring that holds too many bytes."""
    size = sum(map(len, ring))
    while size > bytes_max and len(ring) > 1:
        size -= len(ring.popleft())
