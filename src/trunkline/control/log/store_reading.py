"""Reads a log from its two places: first the segments, then what the journal holds.

What is in memory is taken before the tables are asked: what is folded meanwhile is seen twice then,
and told apart by its number, never missed.
"""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Sequence
from math import inf
from typing import Any

from trunkline.control.log.packing import Entry, SegmentRow, logged, notes_of
from trunkline.control.log.store import Logged
from trunkline.control.log.tables import Tables
from trunkline.control.log.unfolded import Unfolded

_ROWS_FIRST, _ROWS_MAX = 8, 512
_NOTE_ROWS = 500
_ENTRIES_MAX = 5_000
_INLINE_BYTES = 256 * 1024  # more are unpacked beside the event loop


class StoreReading:
    def __init__(
        self,
        tables: Tables,
        unfolded: Unfolded,
        page_bytes_max: int,
        aside: Callable[..., Awaitable[Any]],
    ) -> None:
        self._tables = tables
        self._unfolded = unfolded
        self._page_bytes_max = page_bytes_max
        self._aside = aside

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        unfolded = self._unfolded.of(session_id)
        events, _ = await self._forward(session_id, after, limit, unfolded)
        return [(one.event_id, one.text) for one in events]

    async def read_back(self, session_id: str, before: int, limit: int) -> list[tuple[int, str]]:
        if limit <= 0:
            return []
        found: list[Logged] = []
        """The newest first."""
        size = 0
        for one in _events_back(self._unfolded.of(session_id), before):
            if len(found) >= limit or size > self._page_bytes_max:
                break
            found.append(one)
            size += len(one.text)
        count = _ROWS_FIRST
        while len(found) < limit and size <= self._page_bytes_max:
            upto = found[-1].event_id if found else before
            rows = await self._tables.segments_back(session_id, upto, count)
            for row in rows:
                if len(found) >= limit or size > self._page_bytes_max:
                    break
                events = await self._unpacked(session_id, row)
                events = [one for one in reversed(events) if one.event_id < upto]
                found += _fitting(events, row.lines_bytes, self._page_bytes_max - size)
                size += row.lines_bytes
            if len(rows) < count:
                break
            count = min(count * 4, _ROWS_MAX)
        return [(one.event_id, one.text) for one in reversed(found[:limit])]

    async def entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        """While nothing is folded. Where events or notes are cut off, what the others have behind
        that point waits for the next page: it may belong further back."""
        unfolded = list(self._unfolded.of(session_id))  # which grows meanwhile
        rows = await self._tables.notes(session_id, after_note, _NOTE_ROWS)
        notes = [one for row in rows for one in notes_of(session_id, row) if one.note > after_note]
        upto: float = inf
        if len(rows) == _NOTE_ROWS:
            upto = notes[-1].event_id
        else:
            last = notes[-1].note if notes else after_note
            notes += _notes(unfolded, last)
        events, is_cut = await self._forward(session_id, after_id, _ENTRIES_MAX, unfolded)
        if is_cut:
            upto = min(upto, events[-1].event_id)
        merged = [one for one in (*events, *notes) if one.event_id <= upto]
        return sorted(merged, key=lambda one: (one.event_id, one.note))

    async def _forward(
        self, session_id: str, after: int, limit: int, unfolded: Sequence[Entry]
    ) -> tuple[list[Logged], bool]:
        """The next events, and whether there may be more."""
        events: list[Logged] = []
        size, count = 0, _ROWS_FIRST
        is_folded = not unfolded or unfolded[0].first_id > after + 1
        while is_folded:
            rows = await self._tables.segments(session_id, after, count)
            for row in rows:
                found = await self._unpacked(session_id, row)
                found = [one for one in found if one.event_id > after]
                events += _fitting(found, row.lines_bytes, self._page_bytes_max - size)
                after, size = row.last_id, size + row.lines_bytes
                if len(events) >= limit or size > self._page_bytes_max:
                    return events[:limit], True
            if len(rows) < count:
                break
            count = min(count * 4, _ROWS_MAX)
        for one in _events(unfolded, after):
            if len(events) >= limit or size > self._page_bytes_max:
                return events, True
            events.append(one)
            size += len(one.text)
        return events, False

    async def _unpacked(self, session_id: str, row: SegmentRow) -> list[Logged]:
        if row.lines_bytes <= _INLINE_BYTES:
            return logged(session_id, row)
        found: list[Logged] = await self._aside(logged, session_id, row)
        return found


def _fitting(events: list[Logged], size: int, room: int) -> list[Logged]:
    """Of a segment of that size, the events up to the one that goes beyond the room."""
    if size <= room:
        return events
    for count, one in enumerate(events, 1):
        room -= len(one.text)
        if room < 0:
            return events[:count]
    return events


def _events(entries: Sequence[Entry], after: int) -> Iterator[Logged]:
    """Those with a later id, in order."""
    start = bisect_right(entries, after, key=lambda one: one.first_id)
    for one in entries[max(0, start - 1) :]:
        if one.body is not None and one.last_id > after:
            for number, line in enumerate(one.body.split("\n"), one.first_id):
                if number > after:
                    yield Logged(number, 0, one.at, line)
            after = one.last_id


def _events_back(entries: Sequence[Entry], before: int) -> Iterator[Logged]:
    """Those with a smaller id, the newest first."""
    for one in reversed(entries):
        if one.body is not None and one.first_id < before:
            lines = one.body.split("\n")
            for number in range(min(one.last_id, before - 1), one.first_id - 1, -1):
                yield Logged(number, 0, one.at, lines[number - one.first_id])
            before = one.first_id


def _notes(entries: Sequence[Entry], after: int) -> Iterator[Logged]:
    for one in entries:
        for note in one.notes:
            if note.number > after:
                yield Logged(note.after_id, note.number, one.at, note.body)
                after = note.number
