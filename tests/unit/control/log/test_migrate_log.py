"""A log of an earlier version is migrated on both engines: what it held is read by position, and
the session goes on behind it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from tests.unit.control.postgres import Postgres
from trunkline.control.log.journal import Journal
from trunkline.control.log.postgres_segments import PostgresSegments
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import Head, Logged, NoteRow, Segment, Stored
from trunkline.control.store.engine import close_engine, open_engine, sqlite_url
from trunkline.control.store.migrate import HEADS, upgrade, versions

_TABLES = """
CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);
INSERT INTO alembic_version VALUES ('{version}');
CREATE TABLE segments (session_id VARCHAR(36) NOT NULL, last_id BIGINT NOT NULL,
  first_id BIGINT NOT NULL, at BIGINT NOT NULL, machine_seq BIGINT, body {bytes} NOT NULL,
  PRIMARY KEY (session_id, last_id)){end};
CREATE TABLE notes (session_id VARCHAR(36) NOT NULL, number BIGINT NOT NULL,
  after_id BIGINT NOT NULL, at BIGINT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (session_id, number)){end};
"""
_SEGMENT = text("INSERT INTO segments VALUES (:session_id, :last_id, :first_id, :at, :seq, :body)")
_SEGMENTS = [
    ("s", 2, 1, 10, 4, b"a\nb"),
    ("s", 3, 3, 11, 5, b"c"),
    ("counted", 0, 1, 12, 9, b""),
    ("cut", 9, 8, 13, None, b"h\ni"),
]
_NOTES = (
    "INSERT INTO notes VALUES"
    " ('s', 1, 2, 10, 'n1'), ('s', 2, 3, 11, 'n2'), ('noted', 1, 0, 12, 'm')"
)
_WORDS = {
    "sqlite": {"bytes": "BLOB", "end": " WITHOUT ROWID"},
    "postgresql": {"bytes": "BYTEA", "end": ""},
}


class Older:
    """A database with a log of an earlier version."""

    def __init__(self, url: str, open_it: Callable[[], Awaitable[Journal]]) -> None:
        self.url = url
        self._open = open_it
        self._opened: Journal | None = None

    async def make(self, version: str) -> None:
        engine = open_engine(self.url)
        script = _TABLES.format(version=version, **_WORDS[engine.dialect.name])
        async with engine.begin() as connection:
            for statement in script.split(";")[:-1]:
                await connection.execute(text(statement))
            names = ("session_id", "last_id", "first_id", "at", "seq", "body")
            rows = [dict(zip(names, one, strict=True)) for one in _SEGMENTS]
            await connection.execute(_SEGMENT, rows)
            statement = "DROP TABLE notes" if version == "log_0001" else _NOTES
            await connection.execute(text(statement))
        await close_engine(engine)

    async def open(self) -> Journal:
        self._opened = await self._open()
        return self._opened

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
async def older(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Older]:
    path = tmp_path / "log.db"
    if request.param == "sqlite":
        made = Older(sqlite_url(path), lambda: SqliteSegments.open(path))
    else:
        server: Postgres = request.getfixturevalue("postgres")
        url = await server.new_database()
        made = Older(url, lambda: PostgresSegments.open(url))
    yield made
    await made.close()


async def test_a_log_of_an_earlier_version_is_read_by_position_and_goes_on(older: Older) -> None:
    await older.make("log_0002")
    store = await older.open()
    assert await store.heads(["s", "counted", "cut", "noted", "nobody"]) == {
        "s": Head(3, 5, 2, 1, 8),
        "counted": Head(0, 9),
        "cut": Head(9, None, 0, 8, 3),
        "noted": Head(0, None, 1, 1, 1),
    }
    assert await store.front("s", 1) == [Stored(1, 2, 10, 5)]  # with a note
    assert await store.front("counted", 1) == []
    for session_id in ("s", "counted", "cut", "noted"):
        last_id, _, note, *_ = (await store.heads([session_id]))[session_id]
        notes = [NoteRow(note + 1, last_id + 1, "later")]
        await store.append([Segment(session_id, last_id + 1, ["z"], "z", 20, 6, notes)])
    wanted = [
        Logged(1, 0, 10, "a"),
        Logged(2, 0, 10, "b"),
        Logged(2, 1, 10, "n1"),
        Logged(3, 0, 11, "c"),
        Logged(3, 2, 11, "n2"),
        Logged(4, 0, 20, "z"),
        Logged(4, 3, 20, "later"),
    ]
    for _ in range(2):
        assert await store.entries("s", 0, 0) == wanted
        assert await store.entries("s", 2, 1) == wanted[3:]
        assert await store.read("s", 1, 10) == [(2, "b"), (3, "c"), (4, "z")]
        assert await store.read("cut", 0, 10) == [(8, "h"), (9, "i"), (10, "z")]
        assert await store.read("counted", 0, 10) == [(1, "z")]
        await store.fold(all=True)
    assert {one: head[:4] for one, head in (await store.heads(["s", "counted"])).items()} == {
        "s": (4, 6, 3, 1),
        "counted": (1, 6, 1, 1),
    }


async def test_a_log_of_the_first_version_gets_its_notes_and_keeps_its_events(
    older: Older,
) -> None:
    await older.make("log_0001")
    store = await older.open()
    assert await store.heads(["s"]) == {"s": Head(3, 5, bytes=4)}
    await store.append([Segment("s", 4, [], "", 12, None, [NoteRow(1, 3, "n")])])
    assert (await store.entries("s", 2, 0))[-2:] == [Logged(3, 0, 11, "c"), Logged(3, 1, 12, "n")]


async def test_a_long_migration_says_how_far_it_is(older: Older) -> None:
    await older.make("log_0002")
    engine = open_engine(older.url)
    with capture_logs() as logs:
        await upgrade(engine, "log", tell_s=0.0)
    told = [one for one in logs if one["event"] == "the log is upgraded"]
    assert [(one["percent"], one["sessions"]) for one in told] == [
        (percent, 4) for percent in (0, 25, 50, 75)
    ]
    async with engine.connect() as connection:
        assert HEADS["log"] in await connection.run_sync(versions)
    await close_engine(engine)
