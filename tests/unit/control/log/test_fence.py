"""Whoever opened the log before changes nothing any more, however late it tries: the same tests for
each engine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from tests.support.eventually import WAIT_S, eventually
from tests.support.memory_tables import MemoryTables, TablesDisk
from tests.unit.control.postgres import Postgres
from trunkline.control.clock import now_ms
from trunkline.control.errors import Overtaken
from trunkline.control.log.checkpointer import Checkpointer
from trunkline.control.log.journal import Journal
from trunkline.control.log.log import Log
from trunkline.control.log.packing import JournalRow
from trunkline.control.log.postgres_segments import PostgresSegments, PostgresTables
from trunkline.control.log.session_log import Batch
from trunkline.control.log.sqlite_segments import SqliteSegments, SqliteTables
from trunkline.control.log.store import Head, Segment
from trunkline.control.log.tables import Fold, Tables
from trunkline.control.store import causes
from trunkline.control.store.engine import Store, open_migrated, sqlite_url
from trunkline.control.tuning import Tuning

Open = Callable[[], Awaitable[Tables]]

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
async def url(postgres: Postgres) -> AsyncIterator[str]:
    async with postgres.database() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
async def opening(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Each call opens the same tables once more."""
    opened: list[Tables] = []
    disk, path = TablesDisk(), tmp_path / "log.db"
    url = sqlite_url(path)
    if request.param == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        url = await server.new_database()

    async def another() -> Tables:
        if request.param == "memory":
            opened.append(MemoryTables(disk))
            return opened[-1]
        engine = await open_migrated(url, "log")
        if request.param == "postgres":
            opened.append(PostgresTables(engine))
            return opened[-1]
        await engine.dispose()
        tables = SqliteTables(path, False, Checkpointer(path))
        opened.append(tables)
        await tables.connect()
        return tables

    yield another
    for one in opened:
        await one.close()


def row(seq: int) -> JournalRow:
    return JournalRow(seq, 10, b"body %d" % seq)


LATE: dict[str, Callable[[Tables], Awaitable[object]]] = {
    "a commit": lambda one: one.append([row(7)], again=False),
    "a large commit": lambda one: one.append([row(7), row(8)], again=False),
    "a commit made again": lambda one: one.append([row(7)], again=True),
    "a fold": lambda one: one.fold([Fold("s", Head(1, None), [], [], [], [])]),
    "forgetting": lambda one: one.forget(99),
    "a delete": lambda one: one.delete("s", row(7)),
    "a cut": lambda one: one.cut("s", 1, None),
    "a skip": lambda one: one.skip(5, ["t"]),
}


@pytest.mark.parametrize("late", LATE)
async def test_what_comes_late_changes_nothing(opening: Open, late: str) -> None:
    first = await opening()
    assert await first.claim() == 1
    await first.append([row(1)], again=False)
    await first.fold([Fold("s", Head(3, None), [], [], [], [])])
    second = await opening()
    assert await second.claim() == 2
    with pytest.raises(Overtaken) as refused:
        await LATE[late](first)
    assert causes.cause_of(refused.value) == causes.TAKEN
    assert await second.journal(0) == [row(1)]
    assert await second.heads(["s", "t"]) == {"s": Head(3, None)}
    await second.append([row(2)], again=False)
    assert await second.journal(0) == [row(1), row(2)]


@pytest.mark.slow
async def test_who_overtakes_waits_for_a_commit_that_is_under_way(url: str) -> None:
    first = PostgresTables(await open_migrated(url, "log"))
    epoch = await first.claim()
    by_hand = await asyncpg.connect(url.replace("+asyncpg", ""))
    under_way = by_hand.transaction()
    await under_way.start()
    await by_hand.execute("INSERT INTO journal VALUES (5, 'embedded', $1, 10, 'x')", epoch)
    second = PostgresTables(await open_migrated(url, "log"))
    claiming = asyncio.create_task(second.claim())
    await eventually(lambda: by_hand.fetchval(WAITING))
    await under_way.commit()
    await claiming
    assert [one.seq for one in await second.journal(0)] == [5]
    for one in (by_hand, first, second):
        await one.close()


@pytest.mark.slow
@pytest.mark.parametrize("late", ["a commit", "a large commit", "forgetting"])
async def test_a_commit_that_waits_for_who_overtakes_is_not_made(url: str, late: str) -> None:
    tables = PostgresTables(await open_migrated(url, "log"))
    await tables.claim()
    await tables.append([row(1)], again=False)  # prepared, and planned
    by_hand = await asyncpg.connect(url.replace("+asyncpg", ""))
    async with by_hand.transaction():
        await by_hand.execute("LOCK TABLE nodes, journal IN EXCLUSIVE MODE")
        await by_hand.execute("UPDATE nodes SET epoch = epoch + 1")
        writing = asyncio.ensure_future(LATE[late](tables))
        await eventually(lambda: by_hand.fetchval(WAITING))
    with pytest.raises(Overtaken):
        await writing
    assert await tables.journal(0) == [row(1)]
    for one in (by_hand, tables):
        await one.close()


@pytest.mark.slow
async def test_a_backup_of_the_database_keeps_nobody_from_starting(url: str) -> None:
    tables = PostgresTables(await open_migrated(url, "log"))
    dump = await asyncpg.connect(url.replace("+asyncpg", ""))
    async with dump.transaction():
        await dump.execute("LOCK TABLE nodes, journal, segments IN ACCESS SHARE MODE")
        async with asyncio.timeout(WAIT_S):
            await tables.claim()
    for one in (dump, tables):
        await one.close()


@pytest.mark.slow
async def test_nor_does_it_write_records(url: str) -> None:
    store = await Store.open(url)
    segments = await PostgresSegments.open(url)
    store.fence(segments.epoch)
    async with store.write():
        pass
    other = await PostgresSegments.open(url)
    with pytest.raises(Overtaken):
        async with store.write():
            raise AssertionError("it was let in")
    assert store.trouble == causes.TAKEN
    for one in (segments, other, store):
        await one.close()


class Reader:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def deliver(self, batch: Batch) -> None:
        self.seen += batch.lines

    def resync(self) -> None:
        raise AssertionError("it missed nothing")


async def test_what_could_not_be_written_is_delivered_to_nobody(tmp_path: Path) -> None:
    tuning = Tuning(retry_s=0.01)
    first: Journal = await SqliteSegments.open(tmp_path / "log.db")
    log = Log(first, now_ms, tuning)
    session, reader = await log.open("s"), Reader()
    session.attach(reader)
    log.append(session, "early")
    await log.flushed()
    second: Journal = await SqliteSegments.open(tmp_path / "log.db")
    log.append(session, "late")
    while log.stalled is None:
        await asyncio.sleep(0)
    assert log.stalled == causes.TAKEN
    assert reader.seen == ["early"]
    await second.append([Segment("s", 2, ["other"], "other", 1, None)])
    assert await second.read("s", 0, 9) == [(1, "early"), (2, "other")]
    for one in (second, first):
        await one.close()
