"""The log in PostgreSQL: one connection for commits, so that none waits for a fold or a reader."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy.ext.asyncio import AsyncEngine

from trunkline import limits
from trunkline.control.log.journal import Journal
from trunkline.control.log.packing import JournalRow, NotesRow, SegmentRow
from trunkline.control.log.store import Head, Stored
from trunkline.control.log.tables import TAIL_ROWS, Fold, Tail, with_notes
from trunkline.control.store.engine import close_engine, open_migrated
from trunkline.control.store.fence import NODE, overtaken, raising
from trunkline.control.store.takeover import lock_tables
from trunkline.control.tuning import DEFAULT, Tuning

if TYPE_CHECKING:
    import asyncpg

_IS_OURS = f"SELECT 1 FROM nodes WHERE node = '{NODE}' AND epoch = $1"  # noqa: S608
_JOURNAL = (
    f"INSERT INTO journal (epoch, seq, node, at, body) "
    f" SELECT $1::bigint, $2::bigint, '{NODE}', $3::bigint, $4::bytea"
    f" WHERE EXISTS ({_IS_OURS})"
)
_LOAD_BYTES = 4 * limits.MIB  # of the journal at a time
_HEADS = (
    "SELECT session_id, last_id, machine_seq, note, first_id, bytes FROM logs"
    " WHERE session_id = ANY($1)"
)
_LOG = (
    "INSERT INTO logs (session_id, last_id, machine_seq, note, first_id, bytes)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (session_id) DO UPDATE SET"
    " last_id = excluded.last_id, machine_seq = excluded.machine_seq, note = excluded.note,"
    " first_id = excluded.first_id, bytes = excluded.bytes"
)
_SEGMENT = (
    "INSERT INTO segments (session_id, last_id, first_id, at, body, codec, times, size)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
)
_NOTE = (
    "INSERT INTO notes (session_id, number, after_id, at, body, packed)"
    " VALUES ($1, $2, $3, $4, $5, $6)"
)
# Versions without the table `logs` kept a machine's number in a row without events.
_SEGMENTS = (
    "SELECT last_id, first_id, at, body, codec, times, size FROM segments"
    " WHERE session_id = $1 AND last_id >= first_id"
)
# The last one that can begin before an id: found by the key, not by a walk from the log's end.
_LAST_BACK = "SELECT min(last_id) FROM segments WHERE session_id = $1 AND last_id >= $2"
_SEGMENTS_BACK = (
    f"{_SEGMENTS} AND first_id < $2 AND last_id <= coalesce(({_LAST_BACK}), $2)"
    " ORDER BY last_id DESC LIMIT $3"
)
_NOTES = "SELECT number, after_id, at, body, packed FROM notes WHERE session_id = $1"
_NOTE_SIZES = (
    "SELECT after_id, length(body) + coalesce(length(packed), 0) FROM notes"
    " WHERE session_id = $1 AND after_id <= $2 ORDER BY number"
)
_TAILS = (
    "SELECT w.session_id, s.* FROM unnest($1::text[]) AS w(session_id) CROSS JOIN LATERAL ("
    "SELECT last_id, first_id, at, CASE WHEN coalesce(size, length(body)) < $2 THEN body END,"
    " codec, times, size FROM segments WHERE session_id = w.session_id AND last_id >= first_id"
    " ORDER BY last_id DESC LIMIT $3) AS s"
)
_TAIL_NOTES = (
    "SELECT w.session_id, n.* FROM unnest($1::text[]) AS w(session_id) CROSS JOIN LATERAL ("
    "SELECT number, after_id, at, body, packed FROM notes WHERE session_id = w.session_id"
    " ORDER BY number DESC LIMIT $2) AS n"
)


class PostgresSegments(Journal):
    """The log's store in that database."""

    @classmethod
    async def open(cls, url: str, *, tuning: Tuning = DEFAULT) -> Self:
        tables = PostgresTables(await open_migrated(url, "log"), tuning.takeover_s)
        store = cls(tables, tuning)
        try:
            await store.load()
        except BaseException:
            await tables.close()
            raise
        return store


class PostgresTables:
    """`Tables` of that database."""

    def __init__(self, engine: AsyncEngine, takeover_s: float = DEFAULT.takeover_s) -> None:
        self._engine = engine
        self._takeover_s = takeover_s
        self._writer: Any = None
        """A connection of the pool that stays with the commits."""
        self._epoch = 0

    async def claim(self, at_least: int) -> int:
        async with self._begin(is_ours=False) as connection:
            await lock_tables(connection, ("nodes", "journal"), self._takeover_s)
            self._epoch = int(await connection.fetchval(raising(at_least)))
        return self._epoch

    async def append(self, rows: list[JournalRow], *, again: bool) -> None:
        if self._writer is None:
            self._writer = await self._engine.raw_connection()
        connection: asyncpg.Connection = self._writer.driver_connection
        try:
            await self._append(connection, rows, again)
        except BaseException:
            # It may be broken, or in the middle of something.
            self._writer.invalidate()
            self._writer = None
            raise

    async def _append(
        self, connection: "asyncpg.Connection", rows: list[JournalRow], again: bool
    ) -> None:
        if len(rows) == 1 and not again:
            row = rows[0]
            # One statement is a transaction, and one round trip.
            done = await connection.execute(_JOURNAL, self._epoch, row.seq, row.at, row.body)
            if done == "INSERT 0 0":
                raise overtaken()
            return
        async with connection.transaction():
            await self._check(connection)
            query = f"{_JOURNAL} ON CONFLICT DO NOTHING" if again else _JOURNAL
            values = [(self._epoch, row.seq, row.at, row.body) for row in rows]
            await connection.executemany(query, values)

    async def journal(self, after: int) -> list[JournalRow]:
        rows = await self._fetch(
            "SELECT seq, at, body FROM (SELECT *, sum(length(body)) OVER (ORDER BY seq)"
            " - length(body) AS before FROM journal WHERE seq > $1) AS rest"
            " WHERE before < $2 ORDER BY seq",
            after,
            _LOAD_BYTES,
        )
        return [JournalRow(*row) for row in rows]

    async def fold(self, folds: list[Fold]) -> None:
        gone = [(one.session_id, last_id) for one in folds for last_id in one.gone]
        gone_notes = [(one.session_id, number) for one in folds for number in one.gone_notes]
        segments = [(one.session_id, *row) for one in folds for row in one.segments]
        notes = [(one.session_id, *row) for one in folds for row in one.notes]
        steps: list[tuple[str, list[Any]]] = [
            ("DELETE FROM segments WHERE session_id = $1 AND last_id = $2", gone),
            ("DELETE FROM notes WHERE session_id = $1 AND number = $2", gone_notes),
            (_SEGMENT, segments),
            (_NOTE, notes),
            (_LOG, [(one.session_id, *one.head) for one in folds]),
        ]
        async with self._begin() as connection:
            for query, values in steps:
                if values:
                    await connection.executemany(query, values)

    async def forget(self, upto: int) -> None:
        async with self._begin() as connection:
            await connection.execute("DELETE FROM journal WHERE seq <= $1", upto)

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        rows = await self._fetch(_HEADS, session_ids) if session_ids else []
        return {row[0]: Head(*row[1:]) for row in rows}

    async def tails(self, session_ids: list[str], lines_bytes_max: int) -> dict[str, Tail]:
        heads = await self.heads(session_ids)
        tails = {one: Tail(heads.get(one), [], []) for one in session_ids}
        if not heads:
            return tails
        for row in await self._fetch(_TAILS, list(heads), lines_bytes_max, TAIL_ROWS):
            tails[row[0]].segments.append(SegmentRow(*row[1:]))
        for row in await self._fetch(_TAIL_NOTES, list(heads), TAIL_ROWS):
            tails[row[0]].notes.append(NotesRow(*row[1:]))
        for tail in tails.values():
            small = (place for place, row in enumerate(tail.segments) if row.body is None)
            del tail.segments[next(small, TAIL_ROWS) :]
        return tails

    async def segments(self, session_id: str, after: int, count: int) -> list[SegmentRow]:
        query = f"{_SEGMENTS} AND last_id > $2 ORDER BY last_id LIMIT $3"
        return [SegmentRow(*row) for row in await self._fetch(query, session_id, after, count)]

    async def segments_back(self, session_id: str, before: int, count: int) -> list[SegmentRow]:
        rows = await self._fetch(_SEGMENTS_BACK, session_id, before, count)
        return [SegmentRow(*row) for row in rows]

    async def notes(self, session_id: str, after: int, count: int) -> list[NotesRow]:
        query = f"{_NOTES} AND number > $2 ORDER BY number LIMIT $3"
        return [NotesRow(*row) for row in await self._fetch(query, session_id, after, count)]

    async def delete(self, session_id: str, row: JournalRow) -> None:
        async with self._begin() as connection:
            for table in ("segments", "notes", "logs"):
                query = f"DELETE FROM {table} WHERE session_id = $1"  # noqa: S608
                await connection.execute(query, session_id)
            await connection.execute(_JOURNAL, self._epoch, row.seq, row.at, row.body)

    async def cut(self, session_id: str, upto: int, rest: SegmentRow | None) -> int | None:
        async with self._begin() as connection:
            for table, end in (("segments", "last_id"), ("notes", "after_id")):
                query = f"DELETE FROM {table} WHERE session_id = $1 AND {end} <= $2"  # noqa: S608
                await connection.execute(query, session_id, upto)
            if rest is not None:
                query = "DELETE FROM segments WHERE session_id = $1 AND last_id = $2"
                await connection.execute(query, session_id, rest.last_id)
                await connection.execute(_SEGMENT, session_id, *rest)
            first_id: int | None = await connection.fetchval(
                "UPDATE logs SET first_id = coalesce((SELECT min(first_id) FROM segments"
                " WHERE session_id = $1), last_id + 1),"
                " bytes = (SELECT coalesce(sum(length(body)), 0) FROM segments"
                " WHERE session_id = $1) + (SELECT coalesce(sum(length(body)"
                " + coalesce(length(packed), 0)), 0) FROM notes WHERE session_id = $1)"
                " WHERE session_id = $1 RETURNING first_id",
                session_id,
            )
        return first_id

    async def skip(self, gap: int, session_ids: list[str]) -> None:
        async with self._begin() as connection:
            await connection.executemany(
                "INSERT INTO logs (session_id, first_id, last_id, note, bytes)"
                " VALUES ($1, 1, 0, 0, 0) ON CONFLICT DO NOTHING",
                [(one,) for one in session_ids],
            )
            await connection.execute(
                "UPDATE logs SET last_id = last_id + $1, first_id = CASE WHEN"
                " first_id > last_id THEN last_id + $1 + 1 ELSE first_id END",
                gap,
            )

    async def sizes(self, session_ids: list[str] | None) -> dict[str, int]:
        if session_ids is None:
            return dict(await self._fetch("SELECT session_id, bytes FROM logs"))
        return {one: head.bytes for one, head in (await self.heads(session_ids)).items()}

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        rows = await self._fetch(
            "SELECT first_id, last_id, at, length(body) FROM segments WHERE session_id = $1"
            " AND last_id >= first_id ORDER BY last_id LIMIT $2",
            session_id,
            limit,
        )
        found = [Stored(*row) for row in rows]
        notes = await self._fetch(_NOTE_SIZES, session_id, found[-1].last_id) if found else []
        return with_notes(found, notes)

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.invalidate()
        await close_engine(self._engine)

    @asynccontextmanager
    async def _begin(self, *, is_ours: bool = True) -> AsyncIterator["asyncpg.Connection"]:
        """A transaction on a connection of the driver itself, which takes rows as they are.
        `is_ours`: only as long as nobody has overtaken this one."""
        async with self._engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            async with driver.transaction():
                if is_ours:
                    await self._check(driver)
                yield driver

    async def _check(self, connection: "asyncpg.Connection") -> None:
        """Up to the end of the transaction: who would overtake this one waits for that."""
        if await connection.fetchval(f"{_IS_OURS} FOR KEY SHARE", self._epoch) is None:
            raise overtaken()

    async def _fetch(self, query: str, *values: object) -> list[Any]:
        async with self._engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            rows: list[Any] = await driver.fetch(query, *values)
        return rows
