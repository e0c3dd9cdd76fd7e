"""The log in SQLite: a file of its own and one thread, so that its writer never waits for the
records' transactions."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice, takewhile
from pathlib import Path
from typing import Self, TypeVar

from trunkline import limits
from trunkline.control.log.checkpointer import Checkpointer
from trunkline.control.log.journal import Journal
from trunkline.control.log.packing import JournalRow, NotesRow, SegmentRow
from trunkline.control.log.store import Head, Stored
from trunkline.control.log.tables import TAIL_ROWS, Fold, Tail, with_notes
from trunkline.control.store import causes
from trunkline.control.store.engine import close_engine, open_migrated, sqlite_url
from trunkline.control.store.fence import NODE, overtaken, raising
from trunkline.control.tuning import DEFAULT, Tuning

_T = TypeVar("_T")

_IS_OURS = f"SELECT 1 FROM nodes WHERE node = '{NODE}' AND epoch = ?1"  # noqa: S608
_JOURNAL = (
    f"INSERT INTO journal (epoch, seq, node, at, body) SELECT ?1, ?2, '{NODE}', ?3, ?4"
    f" WHERE EXISTS ({_IS_OURS})"
)
_JOURNAL_AGAIN = _JOURNAL.replace("INSERT", "INSERT OR IGNORE")
_LOAD_BYTES = 4 * limits.MIB  # of the journal at a time
_HEAD = "SELECT last_id, machine_seq, note, first_id, bytes FROM logs WHERE session_id = ?"
_LOG = (
    "INSERT OR REPLACE INTO logs (session_id, last_id, machine_seq, note, first_id, bytes)"
    " VALUES (?,?,?,?,?,?)"
)
_SEGMENT = (
    "INSERT INTO segments (session_id, last_id, first_id, at, body, codec, times, size)"
    " VALUES (?,?,?,?,?,?,?,?)"
)
_NOTE = "INSERT INTO notes (session_id, number, after_id, at, body, packed) VALUES (?,?,?,?,?,?)"
# Versions without the table `logs` kept a machine's number in a row without events.
_SEGMENTS = (
    "SELECT last_id, first_id, at, body, codec, times, size FROM segments"
    " WHERE session_id = ? AND last_id >= first_id"
)
# The last one that can begin before an id: found by the key, not by a walk from the log's end.
_LAST_BACK = "SELECT min(last_id) FROM segments WHERE session_id = ?1 AND last_id >= ?2"
_SEGMENTS_BACK = (
    f"{_SEGMENTS} AND first_id < ?2 AND last_id <= coalesce(({_LAST_BACK}), ?2)"
    " ORDER BY last_id DESC LIMIT ?3"
)
_TAIL = (
    "SELECT last_id, first_id, at, CASE WHEN coalesce(size, length(body)) < ?2 THEN body END,"
    " codec, times, size FROM segments WHERE session_id = ?1 AND last_id >= first_id"
    " ORDER BY last_id DESC"
)
_NOTES = "SELECT number, after_id, at, body, packed FROM notes WHERE session_id = ?"
_NOTE_SIZES = (
    "SELECT after_id, length(body) + coalesce(length(packed), 0) FROM notes"
    " WHERE session_id = ? AND after_id <= ? ORDER BY number"
)
_CACHE_KIB = 512  # of pages, between transactions
_ROWS_PER_FOLD = 3


class SqliteSegments(Journal):
    """The log's store in that file."""

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        full_sync: bool = False,
        tuning: Tuning = DEFAULT,
        checkpointer: Checkpointer | None = None,
    ) -> Self:
        await close_engine(await open_migrated(sqlite_url(path), "log"))
        tables = SqliteTables(path, full_sync, checkpointer or Checkpointer(path))
        store = cls(tables, tuning)
        try:
            await tables.connect()
            await store.load()
        except BaseException:
            await tables.close()
            raise
        return store


class SqliteTables:
    """`Tables` of that file."""

    def __init__(self, path: Path, full_sync: bool, checkpointer: Checkpointer) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log")
        self._path = path
        self._full_sync = full_sync
        self._checkpointer = checkpointer
        self._connection: sqlite3.Connection
        self._epoch = 0

    async def connect(self) -> None:
        await self._run(self._connect)

    async def claim(self, at_least: int) -> int:
        self._epoch = await self._run(self._claim, at_least)
        return self._epoch

    async def append(self, rows: list[JournalRow], *, again: bool) -> None:
        await self._run(self._append, rows, again)

    async def journal(self, after: int) -> list[JournalRow]:
        return await self._run(self._journal, after)

    async def fold(self, folds: list[Fold]) -> None:
        await self._run(self._fold, folds)

    async def forget(self, upto: int) -> None:
        await self._run(self._forget, upto)

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        return await self._run(self._heads, session_ids) if session_ids else {}

    async def tails(self, session_ids: list[str], lines_bytes_max: int) -> dict[str, Tail]:
        return await self._run(self._tails, session_ids, lines_bytes_max)

    async def segments(self, session_id: str, after: int, count: int) -> list[SegmentRow]:
        query = f"{_SEGMENTS} AND last_id > ? ORDER BY last_id LIMIT ?"
        return [SegmentRow(*row) for row in await self._rows(query, session_id, after, count)]

    async def segments_back(self, session_id: str, before: int, count: int) -> list[SegmentRow]:
        rows = await self._rows(_SEGMENTS_BACK, session_id, before, count)
        return [SegmentRow(*row) for row in rows]

    async def notes(self, session_id: str, after: int, count: int) -> list[NotesRow]:
        query = f"{_NOTES} AND number > ? ORDER BY number LIMIT ?"
        return [NotesRow(*row) for row in await self._rows(query, session_id, after, count)]

    async def delete(self, session_id: str, row: JournalRow) -> None:
        await self._run(self._delete, session_id, row)

    async def cut(self, session_id: str, upto: int, rest: SegmentRow | None) -> int | None:
        return await self._run(self._cut, session_id, upto, rest)

    async def skip(self, gap: int, session_ids: list[str]) -> None:
        await self._run(self._skip, gap, session_ids)

    async def sizes(self, session_ids: list[str] | None) -> dict[str, int]:
        if session_ids is None:
            return dict(await self._rows("SELECT session_id, bytes FROM logs"))
        return {one: head.bytes for one, head in (await self.heads(session_ids)).items()}

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        rows = await self._rows(
            "SELECT first_id, last_id, at, length(body) FROM segments WHERE session_id = ?1"
            " AND last_id >= first_id ORDER BY last_id LIMIT ?2",
            session_id,
            limit,
        )
        found = [Stored(*row) for row in rows]
        notes = await self._rows(_NOTE_SIZES, session_id, found[-1].last_id) if found else []
        return with_notes(found, notes)

    async def close(self) -> None:
        await self._run(self._close)
        self._thread.shutdown()
        self._checkpointer.close()

    async def _run(self, call: Callable[..., _T], *arguments: object) -> _T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, call, *arguments)
        except sqlite3.Error as error:
            if causes.cause_of(error, self._path.parent) == causes.DISK_FULL:
                make_room = self._checkpointer.make_room
                await loop.run_in_executor(self._thread, make_room, self._connection)
            raise

    async def _rows(self, query: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        def rows() -> list[tuple]:  # type: ignore[type-arg]
            return self._connection.execute(query, values).fetchall()

        return await self._run(rows)

    def _connect(self) -> None:
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={'FULL' if self._full_sync else 'NORMAL'}")
        self._connection.execute("PRAGMA busy_timeout=10000")
        self._connection.execute("PRAGMA wal_autocheckpoint=0")
        self._connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        # A burst is one transaction, and may be larger: its pages are not to be written twice.
        self._connection.execute("PRAGMA cache_spill=OFF")
        self._connection.execute("PRAGMA temp_store=MEMORY")  # whatever room there is elsewhere

    def _close(self) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()

    def _claim(self, at_least: int) -> int:
        [(epoch,)] = self._connection.execute(raising(at_least)).fetchall()
        return int(epoch)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.execute(_IS_OURS, (self._epoch,)).fetchone() is None:
                raise overtaken()
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # a full disk may have ended it already
                connection.execute("ROLLBACK")
            raise

    def _append(self, rows: list[JournalRow], again: bool) -> None:
        values = [(self._epoch, row.seq, row.at, row.body) for row in rows]
        if len(values) == 1 and not again:
            if not self._connection.execute(_JOURNAL, values[0]).rowcount:
                raise overtaken()
        else:
            with self._transaction() as connection:
                connection.executemany(_JOURNAL_AGAIN if again else _JOURNAL, values)
        self._committed(len(rows), sum(len(row.body) for row in rows))

    def _journal(self, after: int) -> list[JournalRow]:
        found: list[JournalRow] = []
        size = 0
        query = "SELECT seq, at, body FROM journal WHERE seq > ? ORDER BY seq"
        for row in self._connection.execute(query, (after,)):
            found.append(JournalRow(*row))
            size += len(found[-1].body)
            if size > _LOAD_BYTES:
                break
        return found

    def _fold(self, folds: list[Fold]) -> None:
        gone = [(one.session_id, last_id) for one in folds for last_id in one.gone]
        segments = [(one.session_id, *row) for one in folds for row in one.segments]
        gone_notes = [(one.session_id, number) for one in folds for number in one.gone_notes]
        notes = [(one.session_id, *row) for one in folds for row in one.notes]
        with self._transaction() as connection:
            for table, key, keys in (
                ("segments", "last_id", gone),
                ("notes", "number", gone_notes),
            ):
                query = f"DELETE FROM {table} WHERE session_id = ? AND {key} = ?"  # noqa: S608
                connection.executemany(query, keys)
            connection.executemany(_SEGMENT, segments)
            connection.executemany(_NOTE, notes)
            connection.executemany(_LOG, [(one.session_id, *one.head) for one in folds])
        size = sum(len(row.body) for one in folds for row in one.segments)
        self._committed(_ROWS_PER_FOLD * len(folds), size)

    def _forget(self, upto: int) -> None:
        size = self._connection.execute(
            "SELECT coalesce(sum(length(body)), 0) FROM journal WHERE seq <= ?", (upto,)
        ).fetchone()[0]
        with self._transaction() as connection:
            connection.execute("DELETE FROM journal WHERE seq <= ?", (upto,))
        self._committed(1, size // 8)  # of a page that is let go, hardly more than its name

    def _committed(self, rows: int, size_bytes: int) -> None:
        self._checkpointer.committed(self._connection, rows=rows, size_bytes=size_bytes)

    def _heads(self, session_ids: list[str]) -> dict[str, Head]:
        found = ((one, self._connection.execute(_HEAD, (one,)).fetchone()) for one in session_ids)
        return {one: Head(*row) for one, row in found if row is not None}

    def _tails(self, session_ids: list[str], lines_bytes_max: int) -> dict[str, Tail]:
        tails = {one: Tail(None, [], []) for one in session_ids}
        for one, head in self._heads(session_ids).items():
            rows = self._connection.execute(_TAIL, (one, lines_bytes_max))
            small = takewhile(lambda row: row[3] is not None, rows)
            segments = [SegmentRow(*row) for row in islice(small, TAIL_ROWS)]
            rows.close()
            notes = self._connection.execute(
                f"{_NOTES} ORDER BY number DESC LIMIT ?", (one, TAIL_ROWS)
            )
            tails[one] = Tail(head, segments, [NotesRow(*row) for row in notes])
        return tails

    def _delete(self, session_id: str, row: JournalRow) -> None:
        with self._transaction() as connection:
            for table in ("segments", "notes", "logs"):
                connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))  # noqa: S608
            connection.execute(_JOURNAL, (self._epoch, row.seq, row.at, row.body))

    def _cut(self, session_id: str, upto: int, rest: SegmentRow | None) -> int | None:
        with self._transaction() as connection:
            for table, end in (("segments", "last_id"), ("notes", "after_id")):
                query = f"DELETE FROM {table} WHERE session_id = ? AND {end} <= ?"  # noqa: S608
                connection.execute(query, (session_id, upto))
            if rest is not None:
                connection.execute(
                    _SEGMENT.replace("INSERT", "INSERT OR REPLACE"), (session_id, *rest)
                )
            connection.execute(
                "UPDATE logs SET first_id = coalesce((SELECT min(first_id) FROM segments"
                " WHERE session_id = ?1), last_id + 1),"
                " bytes = (SELECT coalesce(sum(length(body)), 0) FROM segments"
                " WHERE session_id = ?1) + (SELECT coalesce(sum(length(body)"
                " + coalesce(length(packed), 0)), 0) FROM notes WHERE session_id = ?1)"
                " WHERE session_id = ?1",
                (session_id,),
            )
        head = self._heads([session_id]).get(session_id)
        return None if head is None else head.first_id

    def _skip(self, gap: int, session_ids: list[str]) -> None:
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO logs (session_id, first_id, last_id, note, bytes)"
                " VALUES (?, 1, 0, 0, 0)",
                [(one,) for one in session_ids],
            )
            connection.execute(
                "UPDATE logs SET last_id = last_id + ?1, first_id = CASE WHEN"
                " first_id > last_id THEN last_id + ?1 + 1 ELSE first_id END",
                (gap,),
            )
