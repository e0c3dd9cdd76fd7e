"""Where the log rests: rows of consecutive events, one event a line, and notes between them.

A note is a fact that readers are not shown: it is committed with the events around it, numbered on
its own, and says behind which event it stands. Two engines behind one interface: SQLite on a thread
of its own, and PostgreSQL.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from sqlalchemy import and_, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from trunkline.control.log.checkpointer import Checkpointer
from trunkline.control.store import log_schema
from trunkline.control.store.engine import close_engine, open_migrated, sqlite_url
from trunkline.control.tuning import DEFAULT

_IDS_PER_QUERY = 500
_T = TypeVar("_T")

_VALUES = "segments (session_id, last_id, first_id, at, machine_seq, body) VALUES (?,?,?,?,?,?)"
_INSERT = f"INSERT INTO {_VALUES}"
_INSERT_AGAIN = f"INSERT OR IGNORE INTO {_VALUES}"
_COUNT = f"{_INSERT} ON CONFLICT DO UPDATE SET machine_seq = excluded.machine_seq"
_NOTE = "INSERT INTO notes (session_id, number, after_id, at, body) VALUES (?,?,?,?,?)"
_NOTE_AGAIN = _NOTE.replace("INSERT", "INSERT OR IGNORE")
_ENTRIES_PAGE_ROWS = 1_000
_CACHE_KIB = 2_048  # of pages, between transactions


class Head(NamedTuple):
    """Where a session's log ends."""

    last_id: int
    machine_seq: int | None
    note: int = 0
    """The number of the newest note."""


class Logged(NamedTuple):
    """One committed entry of a session's log, an event or a note."""

    event_id: int
    """Of a note: of the event that it stands behind."""
    note: int
    """The note's number; 0 for an event."""
    at: int
    text: str


class NoteRow(NamedTuple):
    number: int
    after_id: int
    body: str


class Segment(NamedTuple):
    """Consecutive events of one session and the notes among them. Without events, the machine's
    number is all that is new of them, and goes to the row before."""

    session_id: str
    first_id: int
    lines: list[str]
    body: str  # the same, joined
    at: int
    machine_seq: int | None
    notes: list[NoteRow] = []  # noqa: RUF012 - never changed

    def note_rows(self) -> list[tuple[str, int, int, int, str]]:
        """In the order of the table's columns."""
        return [
            (self.session_id, one.number, one.after_id, self.at, one.body) for one in self.notes
        ]

    def row(self) -> tuple[str, int, int, int, int | None, bytes]:
        """In the order of the table's columns."""
        last_id = self.first_id + len(self.lines) - 1
        body = self.body.encode("utf-8", "replace")
        return self.session_id, last_id, self.first_id, self.at, self.machine_seq, body


class SegmentStore(Protocol):
    """What the log needs of its engine."""

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        """All or nothing, durable when it returns.

        `again`: tried before, and it is not known how that ended; what is there already stays.
        """

    async def heads(self, session_ids: list[str]) -> dict[str, Head]: ...

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Up to `limit` events with their ids, in order; fewer where they are large."""

    async def entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        """The next events and notes behind these positions, in the order in which they were
        written; not all of them, but none only where there are none."""

    async def delete(self, session_id: str) -> None: ...

    async def close(self) -> None: ...


def _unpack(
    rows: Iterable[tuple[int, bytes]], after: int, limit: int, bytes_max: int
) -> list[tuple[int, str]]:
    """Up to `limit` events, fewer where they are large."""
    events: list[tuple[int, str]] = []
    size = 0
    for first_id, body in rows:
        lines = bytes(body).decode().split("\n")
        events += [one for one in enumerate(lines, first_id) if one[0] > after]
        size += len(body)
        if len(events) >= limit or size > bytes_max:
            break
    return events[:limit]


def _merged(
    rows: Iterable[tuple[int, int, bytes]], notes: list[Logged], after_id: int, bytes_max: int
) -> list[Logged]:
    """Events and notes of up to a page of rows each, in their order. Where one of the two is cut,
    what the other has behind that point waits for the next page: it may belong further back."""
    events: list[Logged] = []
    size = count = 0
    upto: float = inf
    for first_id, at, body in rows:
        lines = enumerate(bytes(body).decode().split("\n"), first_id)
        events += [Logged(one, 0, at, line) for one, line in lines if one > after_id]
        size, count = size + len(body), count + 1
        if size > bytes_max or count == _ENTRIES_PAGE_ROWS:
            upto = events[-1].event_id
            break
    if len(notes) == _ENTRIES_PAGE_ROWS:
        upto = min(upto, notes[-1].event_id)
    merged = [one for one in (*events, *notes) if one.event_id <= upto]
    return sorted(merged, key=lambda one: (one.event_id, one.note))


class SqliteSegments:
    """A file of its own and one thread: the writer never waits for the records' transactions."""

    def __init__(
        self,
        path: Path,
        *,
        full_sync: bool,
        page_bytes_max: int,
        checkpointer: Checkpointer | None = None,
    ) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log")
        self._path = path
        self._full_sync = full_sync
        self._page_bytes_max = page_bytes_max
        self._checkpointer = checkpointer or Checkpointer(path)
        self._connection: sqlite3.Connection

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        full_sync: bool = False,
        page_bytes_max: int = DEFAULT.events_page_bytes_max,
        checkpointer: Checkpointer | None = None,
    ) -> "SqliteSegments":
        await close_engine(await open_migrated(sqlite_url(path), "log"))
        store = cls(
            path, full_sync=full_sync, page_bytes_max=page_bytes_max, checkpointer=checkpointer
        )
        await store._run(store._connect)
        return store

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        await self._run(self._append, segments, again)

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        return await self._run(self._heads, session_ids)

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        return await self._run(self._read, session_id, after, limit)

    async def entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        return await self._run(self._entries, session_id, after_id, after_note)

    async def delete(self, session_id: str) -> None:
        await self._run(self._delete, session_id)

    async def close(self) -> None:
        await self._run(self._connection.close)
        self._thread.shutdown()
        self._checkpointer.close()

    async def _run(self, call: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)

    def _connect(self) -> None:
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={'FULL' if self._full_sync else 'NORMAL'}")
        self._connection.execute("PRAGMA busy_timeout=10000")
        self._connection.execute("PRAGMA wal_autocheckpoint=0")
        self._connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        # A burst is one transaction, and may be larger: its pages are not to be written twice.
        self._connection.execute("PRAGMA cache_spill=OFF")

    def _append(self, segments: list[Segment], again: bool) -> None:
        connection = self._connection
        rows = [segment.row() for segment in segments if segment.lines]
        counts = [one.row() for one in segments if not one.lines and one.machine_seq is not None]
        notes = [row for segment in segments if segment.notes for row in segment.note_rows()]
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(_INSERT_AGAIN if again else _INSERT, rows)
            if counts:
                connection.executemany(_COUNT, counts)
            if notes:
                connection.executemany(_NOTE_AGAIN if again else _NOTE, notes)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # a full disk may have ended it already
                connection.execute("ROLLBACK")
            raise
        self._checkpointer.committed(
            connection, rows=len(segments), size_bytes=sum(len(row[-1]) for row in rows)
        )

    def _heads(self, session_ids: list[str]) -> dict[str, Head]:
        found: dict[str, Head] = {}
        query = (
            "SELECT last_id, machine_seq FROM segments WHERE session_id = ?"
            " ORDER BY last_id DESC LIMIT 1"
        )
        newest = "SELECT MAX(number) FROM notes WHERE session_id = ?"
        for one in session_ids:
            row = self._connection.execute(query, (one,)).fetchone()
            note = self._connection.execute(newest, (one,)).fetchone()[0]
            if row is not None or note is not None:
                last_id, machine_seq = row or (0, None)
                found[one] = Head(last_id, machine_seq, note or 0)
        return found

    def _read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        rows = self._connection.execute(
            "SELECT first_id, body FROM segments WHERE session_id = ? AND last_id > ?"
            " ORDER BY last_id LIMIT ?",
            (session_id, after, limit),
        )
        return _unpack(rows, after, limit, self._page_bytes_max)

    def _entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        # Notes first: what is written in between must not be taken for all there is.
        notes = self._connection.execute(
            "SELECT after_id, number, at, body FROM notes WHERE session_id = ? AND number > ?"
            " ORDER BY number LIMIT ?",
            (session_id, after_note, _ENTRIES_PAGE_ROWS),
        ).fetchall()
        rows = self._connection.execute(
            "SELECT first_id, at, body FROM segments WHERE session_id = ? AND last_id > ?"
            " ORDER BY last_id LIMIT ?",
            (session_id, after_id, _ENTRIES_PAGE_ROWS),
        )
        return _merged(rows, [Logged(*one) for one in notes], after_id, self._page_bytes_max)

    def _delete(self, session_id: str) -> None:
        for table in ("segments", "notes"):
            self._connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))  # noqa: S608


def _values(segment: Segment) -> dict[str, object]:
    columns = (column.name for column in log_schema.segments.columns)
    return dict(zip(columns, segment.row(), strict=True))


class SqlSegments:
    """The same in PostgreSQL."""

    def __init__(self, engine: AsyncEngine, *, page_bytes_max: int) -> None:
        self._engine = engine
        self._page_bytes_max = page_bytes_max

    @classmethod
    async def open(
        cls, url: str, *, page_bytes_max: int = DEFAULT.events_page_bytes_max
    ) -> "SqlSegments":
        return cls(await open_migrated(url, "log"), page_bytes_max=page_bytes_max)

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        rows = [_values(segment) for segment in segments if segment.lines]
        counts = [_values(one) for one in segments if not one.lines and one.machine_seq is not None]
        statement = insert(log_schema.segments)
        keys = [column.name for column in log_schema.segments.primary_key]
        count = statement.on_conflict_do_update(
            index_elements=keys, set_={"machine_seq": statement.excluded.machine_seq}
        )
        note = insert(log_schema.notes)
        columns = [column.name for column in log_schema.notes.columns]
        notes = [
            dict(zip(columns, row, strict=True))
            for segment in segments
            for row in segment.note_rows()
        ]
        async with self._engine.begin() as connection:
            if rows:
                await connection.execute(
                    statement.on_conflict_do_nothing() if again else statement, rows
                )
            if counts:
                await connection.execute(count, counts)
            if notes:
                await connection.execute(note.on_conflict_do_nothing() if again else note, notes)

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        table = log_schema.segments
        found: dict[str, Head] = {}
        async with self._engine.connect() as connection:
            for start in range(0, len(session_ids), _IDS_PER_QUERY):
                some = session_ids[start : start + _IDS_PER_QUERY]
                newest = (
                    select(table.c.session_id, func.max(table.c.last_id).label("last_id"))
                    .where(table.c.session_id.in_(some))
                    .group_by(table.c.session_id)
                    .subquery()
                )
                query = select(table.c.session_id, table.c.last_id, table.c.machine_seq).join(
                    newest,
                    and_(
                        table.c.session_id == newest.c.session_id,
                        table.c.last_id == newest.c.last_id,
                    ),
                )
                for session_id, last_id, machine_seq in await connection.execute(query):
                    found[session_id] = Head(last_id, machine_seq)
                notes = log_schema.notes
                numbers = (
                    select(notes.c.session_id, func.max(notes.c.number))
                    .where(notes.c.session_id.in_(some))
                    .group_by(notes.c.session_id)
                )
                for session_id, number in await connection.execute(numbers):
                    found[session_id] = found.get(session_id, Head(0, None))._replace(note=number)
        return found

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        table = log_schema.segments
        query = (
            select(table.c.first_id, table.c.body)
            .where(and_(table.c.session_id == session_id, table.c.last_id > after))
            .order_by(table.c.last_id)
            .limit(limit)
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        found = ((row.first_id, row.body) for row in rows)
        return _unpack(found, after, limit, self._page_bytes_max)

    async def entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        segments, notes = log_schema.segments, log_schema.notes
        facts = (
            select(notes.c.after_id, notes.c.number, notes.c.at, notes.c.body)
            .where(and_(notes.c.session_id == session_id, notes.c.number > after_note))
            .order_by(notes.c.number)
            .limit(_ENTRIES_PAGE_ROWS)
        )
        events = (
            select(segments.c.first_id, segments.c.at, segments.c.body)
            .where(and_(segments.c.session_id == session_id, segments.c.last_id > after_id))
            .order_by(segments.c.last_id)
            .limit(_ENTRIES_PAGE_ROWS)
        )
        async with self._engine.connect() as connection:
            found = [Logged(*row) for row in await connection.execute(facts)]
            rows = (await connection.execute(events)).all()
        return _merged([tuple(row) for row in rows], found, after_id, self._page_bytes_max)

    async def delete(self, session_id: str) -> None:
        async with self._engine.begin() as connection:
            for table in (log_schema.segments, log_schema.notes):
                await connection.execute(delete(table).where(table.c.session_id == session_id))

    async def close(self) -> None:
        await close_engine(self._engine)
