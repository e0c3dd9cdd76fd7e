"""The log's store: a commit is one row of the journal; behind it, rows become segments.

The row holds what all sessions said since the last one, so its cost hardly grows with their number.
A fold takes what the journal held when it began, some sessions at a time, each time in one
transaction; when all are folded, the rows go. Whoever dies in between leaves entries in both
places, where their numbers tell that they are the same ones.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import structlog

from trunkline import limits
from trunkline.control.clock import now_ms
from trunkline.control.log import folding
from trunkline.control.log.packing import Damaged, Entry, JournalRow, clean, pack_row, unpack_row
from trunkline.control.log.store import Head, Logged, NoteRow, Segment, Stored
from trunkline.control.log.store_reading import StoreReading
from trunkline.control.log.tables import Fold, Tables, Tail
from trunkline.control.log.unfolded import BySession, Unfolded
from trunkline.control.tuning import DEFAULT, Tuning

_log = structlog.get_logger(__name__)

_ROW_BYTES = 4 * limits.MIB  # a commit of more becomes several rows
_SLICE_SESSIONS = 32  # a few milliseconds of the writer's time
_SLICE_BYTES = limits.MIB
_FORGET_BYTES = 4 * limits.MIB

Aside = Callable[..., Awaitable[Any]]
"""Calls a function with its arguments, not in the way of the event loop."""


class _Row(NamedTuple):
    row: JournalRow
    size: int
    entries: Sequence[Entry]


class Journal:
    """A `SegmentStore` over the tables of one engine."""

    def __init__(
        self, tables: Tables, tuning: Tuning = DEFAULT, aside: Aside = asyncio.to_thread
    ) -> None:
        self._tables = tables
        self._tuning = tuning
        self._aside = aside
        self._unfolded = Unfolded()
        self._reading = StoreReading(tables, self._unfolded, tuning.events_page_bytes_max, aside)
        self.epoch = 0
        """Of this opening (`store/fence.py`)."""
        self._seq = 0
        self._tried: tuple[list[Segment], list[_Row]] | None = None
        """A commit of which it is not known whether it was made."""
        self._order = asyncio.Lock()
        """Held where tables and memory have to agree: they must not change in between."""
        self._one_fold = asyncio.Lock()
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    async def load(self) -> None:
        """Takes in what an earlier process has not folded, and cannot change any more."""
        unfolded = self._unfolded
        self.epoch = await self._tables.claim(now_ms())
        while rows := await self._tables.journal(self._seq):
            for row in rows:
                entries, size = unpack_row(row)
                unfolded.add(row.seq, size, entries)
                self._seq = row.seq
        heads = await self._tables.heads(list(unfolded.sessions()))
        for session_id, head in heads.items():
            unfolded.replace(session_id, folding.trimmed(unfolded.of(session_id), head))
        self._fold_behind()

    # Writing

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        while self._unfolded.bytes > self._tuning.journal_bytes_max:
            await self._fold()
        if self._tried is None or self._tried[0] is not segments:
            self._tried = segments, self._rows(await self._missing(segments) if again else segments)
        rows = self._tried[1]
        if rows:
            await self._tables.append([one.row for one in rows], again=again)
        self._tried = None
        for one in rows:
            self._unfolded.add(one.row.seq, one.size, one.entries)
        self._fold_behind()

    async def _missing(self, segments: list[Segment]) -> list[Segment]:
        heads = await self.heads([one.session_id for one in segments])
        return [one for one in segments if _is_new(one, heads.get(one.session_id))]

    def _rows(self, segments: list[Segment]) -> list[_Row]:
        entries = [
            Entry(one.session_id, one.first_id, one.at, one.machine_seq, body, one.notes)
            for one in segments
            for body in (one.body if one.lines else None,)
        ]
        if sum(len(one.body) for one in segments) <= _ROW_BYTES:
            return [self._row(entries)] if entries else []
        rows: list[_Row] = []
        some: list[Entry] = []
        size = 0
        for one in (part for entry in entries for part in _parts(entry)):
            if some and size + one.size > _ROW_BYTES:
                rows.append(self._row(some))
                some, size = [], 0
            some.append(one)
            size += one.size
        return [*rows, self._row(some)]

    def _row(self, entries: list[Entry]) -> _Row:
        try:
            body, size = pack_row(entries)
        except UnicodeEncodeError:
            entries = [_clean(one) for one in entries]
            body, size = pack_row(entries)
        # Each number is given out once, also where it is not known what became of its row.
        self._seq += 1
        return _Row(JournalRow(self._seq, entries[0].at, body), size, entries)

    async def delete(self, session_id: str) -> None:
        async with self._order:
            row = self._row([Entry(session_id, 0, now_ms(), None, None)])
            await self._tables.delete(session_id, row.row)
            self._unfolded.drop(session_id)
            self._unfolded.add(row.row.seq, row.size, ())
        self._fold_behind()

    async def cut(self, session_id: str, upto: int) -> int:
        unfolded = self._unfolded.of(session_id)
        if unfolded and unfolded[0].first_id <= upto:
            await self.fold(all=True)
        async with self._order:
            rest = await self._aside(
                folding.behind, session_id, upto, await self._tables.segments(session_id, upto, 1)
            )
            first_id = await self._tables.cut(session_id, upto, rest)
        if first_id is not None:
            return first_id
        unfolded = self._unfolded.of(session_id)
        return unfolded[0].first_id if unfolded else 1

    async def skip(self, gap: int, session_ids: list[str] | None = None) -> None:
        while True:
            await self.fold(all=True)
            async with self._order:
                if not self._unfolded.rows:
                    return await self._tables.skip(gap, session_ids or [])

    # Reading

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        async with self._order:
            found = await self._tables.heads(session_ids)
            for one in session_ids:
                if unfolded := self._unfolded.of(one):
                    found[one] = _head(unfolded, found.get(one))
        return found

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        return await self._reading.read(session_id, after, limit)

    async def read_back(self, session_id: str, before: int, limit: int) -> list[tuple[int, str]]:
        return await self._reading.read_back(session_id, before, limit)

    async def entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        async with self._order:
            return await self._reading.entries(session_id, after_id, after_note)

    async def sizes(self, session_ids: list[str] | None = None) -> dict[str, int]:
        async with self._order:
            found = await self._tables.sizes(session_ids)
            for one in self._unfolded.sessions() if session_ids is None else session_ids:
                if unfolded := self._unfolded.of(one):
                    found[one] = found.get(one, 0) + sum(entry.size for entry in unfolded)
        return found

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        async with self._order:
            found = await self._tables.front(session_id, limit)
            after = found[-1].last_id if found else 0
            found += (
                Stored(one.first_id, one.last_id, one.at, one.size)
                for one in self._unfolded.of(session_id)
                if one.body is not None and one.first_id > after
            )
        return found[:limit]

    # Folding

    async def fold(self, *, all: bool = False) -> None:  # noqa: A002
        if all:
            upto = self._known
            while self._unfolded.rows and self._unfolded.rows[0][0] <= upto:
                await self._fold()
        elif self._is_full():
            await self._fold()

    @property
    def _known(self) -> int:
        """The last row before those of which it is not known whether they were written."""
        rows = self._tried[1] if self._tried is not None else ()
        return rows[0].row.seq - 1 if rows else self._seq

    def _is_full(self) -> bool:
        return self._unfolded.bytes >= self._tuning.fold_bytes

    def _fold_behind(self) -> None:
        if self._is_full():
            self._due.set()
        if self._task is None and self._unfolded.rows and not self._is_closing:
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._fold_when_due(), name="log fold")

    async def _fold_when_due(self) -> None:
        """While there is something in the journal: when it is full, when nothing came for a while,
        and when something has been in it for long."""
        tuning, waited_s = self._tuning, 0.0
        failed: str | None = None
        while self._unfolded.rows and not self._is_closing:
            seq, is_quiet = self._seq, False
            try:
                async with asyncio.timeout(tuning.fold_quiet_s):
                    await self._due.wait()
            except TimeoutError:
                waited_s += tuning.fold_quiet_s
                is_quiet = self._seq == seq
            self._due.clear()
            if not (is_quiet or self._is_full() or waited_s >= tuning.fold_age_s):
                continue
            waited_s = 0.0
            try:
                await self._fold()
                failed = None
            except Exception as error:
                # Commits go on, as long as the journal has room. Said once for each reason.
                if repr(error) != failed:
                    _log.exception("the journal could not be folded; it is tried again")
                failed = repr(error)
                await asyncio.sleep(tuning.retry_s)
        self._task = None

    async def _fold(self) -> None:
        """Of what the journal holds now, everything."""
        unfolded = self._unfolded
        async with self._one_fold:
            unfolded.begin(self._known)
            while await self._fold_slice():
                pass
            while (upto := unfolded.stale(_FORGET_BYTES)) is not None:
                await self._tables.forget(upto)
                unfolded.forget(upto)

    async def _fold_slice(self) -> bool:
        async with self._order:
            some = self._unfolded.slice(_SLICE_SESSIONS, _SLICE_BYTES)
            if some:
                tails = await self._tables.tails(list(some), folding.LINES_BYTES_USEFUL)
                await self._tables.fold(await self._aside(_folds, some, tails))
                self._unfolded.folded(some)
        return bool(some)

    async def close(self) -> None:
        self._is_closing = True
        self._due.set()
        if self._task is not None:
            await self._task
        try:
            await self.fold(all=True)
        except Exception:
            _log.exception("the journal could not be folded; that is done at the next start")
        await self._tables.close()


def _folds(some: BySession, tails: dict[str, Tail]) -> list[Fold]:
    folds: list[Fold] = []
    for session_id, entries in some.items():
        tail = tails[session_id]
        try:
            folds.append(folding.fold(session_id, entries, tail))
        except Damaged:
            # One session's damaged rows stay as they are, and are in nobody else's way.
            _log.exception("what was stored before cannot be read", session=session_id)
            folds.append(folding.fold(session_id, entries, Tail(tail.head, [], [])))
    return folds


def _head(entries: Sequence[Entry], folded: Head | None) -> Head:
    head = folded or Head(0, None, first_id=entries[0].first_id)
    last = next((one.last_id for one in reversed(entries) if one.body is not None), 0)
    note = next((one.notes[-1].number for one in reversed(entries) if one.notes), 0)
    return head._replace(
        last_id=max(last, head.last_id),
        machine_seq=entries[-1].machine_seq,
        note=max(note, head.note),
        bytes=head.bytes + sum(one.size for one in entries),
    )


def _is_new(segment: Segment, head: Head | None) -> bool:
    if head is None:
        return True
    if segment.lines or segment.notes:
        last_id = segment.first_id + len(segment.lines) - 1
        return last_id > head.last_id or any(one.number > head.note for one in segment.notes)
    return segment.machine_seq != head.machine_seq


def _clean(entry: Entry) -> Entry:
    notes = [NoteRow(one.number, one.after_id, clean(one.body)) for one in entry.notes]
    body = None if entry.body is None else clean(entry.body)
    return Entry(entry.session_id, entry.first_id, entry.at, entry.machine_seq, body, notes)


def _parts(entry: Entry) -> list[Entry]:
    """One whose events are too many for a row as several; the notes go with the last."""
    if entry.body is None or len(entry.body) <= _ROW_BYTES:
        return [entry]
    parts: list[Entry] = []
    first_id, some, size = entry.first_id, list[str](), 0
    for line in entry.body.split("\n"):
        if some and size + len(line) > _ROW_BYTES:
            body = "\n".join(some)
            parts.append(Entry(entry.session_id, first_id, entry.at, entry.machine_seq, body))
            first_id, some, size = first_id + len(some), [], 0
        some.append(line)
        size += len(line)
    body = "\n".join(some)
    last = Entry(entry.session_id, first_id, entry.at, entry.machine_seq, body, entry.notes)
    return [*parts, last]
