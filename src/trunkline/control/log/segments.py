"""Where the log's events rest: rows of consecutive events, one event a line.

Two engines behind one interface: SQLite on a thread of its own, and PostgreSQL.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from sqlalchemy import and_, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from trunkline import limits
from trunkline.control.log.checkpointer import Checkpointer
from trunkline.control.store import schema
from trunkline.control.store.engine import close_engine, open_migrated, sqlite_url

_IDS_PER_QUERY = 500
_T = TypeVar("_T")

_VALUES = "segments (session_id, last_id, first_id, at, machine_seq, body) VALUES (?,?,?,?,?,?)"
_INSERT = f"INSERT INTO {_VALUES}"
_INSERT_AGAIN = f"INSERT OR IGNORE INTO {_VALUES}"
_COUNT = f"{_INSERT} ON CONFLICT DO UPDATE SET machine_seq = excluded.machine_seq"


class Head(NamedTuple):
    """Where a session's log ends."""

    last_id: int
    machine_seq: int | None


class Segment(NamedTuple):
    """Consecutive events of one session. Without any, the machine's number is all that is new,
    and goes to the row before."""

    session_id: str
    first_id: int
    lines: list[str]
    body: str  # the same, joined
    at: int
    machine_seq: int | None

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

    async def delete(self, session_id: str) -> None: ...

    async def close(self) -> None: ...


def _unpack(rows: Iterable[tuple[int, bytes]], after: int, limit: int) -> list[tuple[int, str]]:
    """Up to `limit` events, fewer where they are large."""
    events: list[tuple[int, str]] = []
    size = 0
    for first_id, body in rows:
        lines = bytes(body).decode().split("\n")
        events += [one for one in enumerate(lines, first_id) if one[0] > after]
        size += len(body)
        if len(events) >= limit or size > limits.EVENTS_PAGE_BYTES_MAX:
            break
    return events[:limit]


class SqliteSegments:
    """A file of its own and one thread: the writer never waits for the records' transactions."""

    def __init__(self, path: Path, *, full_sync: bool) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log")
        self._path = path
        self._full_sync = full_sync
        self._checkpointer = Checkpointer(path)
        self._connection: sqlite3.Connection

    @classmethod
    async def open(cls, path: Path, *, full_sync: bool = False) -> "SqliteSegments":
        await close_engine(await open_migrated(sqlite_url(path), "log"))
        store = cls(path, full_sync=full_sync)
        await store._run(store._connect)
        return store

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        await self._run(self._append, segments, again)

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        return await self._run(self._heads, session_ids)

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        return await self._run(self._read, session_id, after, limit)

    async def delete(self, session_id: str) -> None:
        await self._run(self._delete, session_id)

    async def close(self) -> None:
        await self._run(self._connection.close)
        self._thread.shutdown()
        self._checkpointer.close()

    async def _run(self, call: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)

    # --- On the thread ------------------------------------------------------------------------

    def _connect(self) -> None:
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={'FULL' if self._full_sync else 'NORMAL'}")
        self._connection.execute("PRAGMA busy_timeout=10000")
        self._connection.execute("PRAGMA wal_autocheckpoint=0")
        # A burst is one transaction. Pages for which there is no room would be written twice.
        self._connection.execute(f"PRAGMA cache_size=-{limits.LOG_CACHE_BYTES_MAX // 1024}")

    def _append(self, segments: list[Segment], again: bool) -> None:
        connection = self._connection
        rows = [segment.row() for segment in segments if segment.lines]
        counts = [segment.row() for segment in segments if not segment.lines]
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(
                _INSERT_AGAIN if again else _INSERT,
                rows,
            )
            connection.executemany(_COUNT, counts)
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
        for one in session_ids:
            row = self._connection.execute(query, (one,)).fetchone()
            if row is not None:
                found[one] = Head(*row)
        return found

    def _read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        rows = self._connection.execute(
            "SELECT first_id, body FROM segments WHERE session_id = ? AND last_id > ?"
            " ORDER BY last_id LIMIT ?",
            (session_id, after, limit),
        )
        return _unpack(rows, after, limit)

    def _delete(self, session_id: str) -> None:
        self._connection.execute("DELETE FROM segments WHERE session_id = ?", (session_id,))


def _values(segment: Segment) -> dict[str, object]:
    columns = (column.name for column in schema.segments.columns)
    return dict(zip(columns, segment.row(), strict=True))


class SqlSegments:
    """The same in PostgreSQL."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @classmethod
    async def open(cls, url: str) -> "SqlSegments":
        return cls(await open_migrated(url, "log"))

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        rows = [_values(segment) for segment in segments if segment.lines]
        counts = [_values(segment) for segment in segments if not segment.lines]
        statement = insert(schema.segments)
        keys = [column.name for column in schema.segments.primary_key]
        count = statement.on_conflict_do_update(
            index_elements=keys, set_={"machine_seq": statement.excluded.machine_seq}
        )
        async with self._engine.begin() as connection:
            if rows:
                await connection.execute(
                    statement.on_conflict_do_nothing() if again else statement, rows
                )
            if counts:
                await connection.execute(count, counts)

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        table = schema.segments
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
        return found

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        table = schema.segments
        query = (
            select(table.c.first_id, table.c.body)
            .where(and_(table.c.session_id == session_id, table.c.last_id > after))
            .order_by(table.c.last_id)
            .limit(limit)
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        return _unpack(((row.first_id, row.body) for row in rows), after, limit)

    async def delete(self, session_id: str) -> None:
        async with self._engine.begin() as connection:
            await connection.execute(
                delete(schema.segments).where(schema.segments.c.session_id == session_id)
            )

    async def close(self) -> None:
        await close_engine(self._engine)
