"""Whoever opened the log before changes nothing any more, however late it tries: the same tests for
each engine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy.engine import make_url
from structlog.testing import capture_logs

from tests.support.clock import FakeClock
from tests.support.control import running
from tests.support.eventually import WAIT_S, eventually, until
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
from trunkline.control.store.engine import Store, close_engine, open_migrated, sqlite_url
from trunkline.control.store.fence import overtaken
from trunkline.control.tuning import Tuning

Open = Callable[[], Awaitable[Tables]]

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
WAITS = "the start waits for transactions in the database"


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
    assert await first.claim(1) == 1
    await first.append([row(1)], again=False)
    await first.fold([Fold("s", Head(3, None), [], [], [], [])])
    second = await opening()
    assert await second.claim(1) == 2
    with pytest.raises(Overtaken) as refused:
        await LATE[late](first)
    assert causes.cause_of(refused.value) == causes.TAKEN
    assert await second.journal(0) == [row(1)]
    assert await second.heads(["s", "t"]) == {"s": Head(3, None)}
    await second.append([row(2)], again=False)
    assert await second.journal(0) == [row(1), row(2)]


async def test_what_is_older_than_a_database_that_was_put_back_has_no_number_of_its_own(
    opening: Open,
) -> None:
    """Counting on from an old copy would reach the number of one that ran before it was put back,
    and may run still."""
    first = await opening()
    assert await first.claim(1_000) == 1_000
    second = await opening()
    assert await second.claim(900) == 1_001
    third = await opening()
    assert await third.claim(5_000) == 5_000


@pytest.mark.slow
async def test_who_overtakes_waits_for_a_commit_that_is_under_way(url: str) -> None:
    first = PostgresTables(await open_migrated(url, "log"))
    epoch = await first.claim(1)
    by_hand = await asyncpg.connect(url.replace("+asyncpg", ""))
    under_way = by_hand.transaction()
    await under_way.start()
    await by_hand.execute("INSERT INTO journal VALUES (5, 'embedded', $1, 10, 'x')", epoch)
    second = PostgresTables(await open_migrated(url, "log"))
    claiming = asyncio.create_task(second.claim(1))
    await eventually(lambda: by_hand.fetchval(WAITING))
    await under_way.commit()
    await claiming
    assert [one.seq for one in await second.journal(0)] == [5]
    for one in (by_hand, first, second):
        await one.close()


@pytest.mark.slow
async def test_a_start_ends_a_transaction_whose_client_was_cut_off_and_says_so(url: str) -> None:
    await close_engine(await open_migrated(url, "log"))
    cut_off = await asyncpg.connect(url.replace("+asyncpg", ""))
    ended = asyncio.Event()
    cut_off.add_termination_listener(lambda _connection: ended.set())
    pid = cut_off.get_server_pid()
    await cut_off.execute("BEGIN; INSERT INTO nodes VALUES ('other', 1)")
    with capture_logs() as logs:
        async with asyncio.timeout(WAIT_S):
            segments = await PostgresSegments.open(url, tuning=Tuning(takeover_s=0.05))
            await ended.wait()
    told = [one for one in logs if one["event"] == WAITS]
    assert [(one["pid"], one["state"]) for one in told[0]["of"]] == [(pid, "idle in transaction")]
    assert [one["pid"] for one in logs if one["event"].startswith("ended a trans")] == [pid]
    await segments.close()


@pytest.mark.slow
async def test_a_start_waits_for_what_it_may_not_end_and_says_so(url: str) -> None:
    await close_engine(await open_migrated(url, "log"))
    place = make_url(url)
    by_hand = await asyncpg.connect(url.replace("+asyncpg", ""))
    await by_hand.execute("DROP ROLE IF EXISTS limited; CREATE ROLE limited LOGIN")
    await by_hand.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO limited")
    engine = await open_migrated(
        place.set(username="limited").render_as_string(hide_password=False), "log"
    )
    tables = PostgresTables(engine, takeover_s=0.05)
    under_way = by_hand.transaction()
    await under_way.start()
    await by_hand.execute("SELECT epoch FROM nodes FOR KEY SHARE")
    with capture_logs() as logs:
        claiming = asyncio.create_task(tables.claim(1))
        await until(lambda: [one for one in logs if one["event"] == WAITS], bool)
        assert not claiming.done()
    assert logs[0]["of"][0]["pid"] == by_hand.get_server_pid()
    assert not [one for one in logs if one["event"].startswith("ended")]
    await under_way.rollback()
    await claiming
    await tables.close()
    await by_hand.execute("DROP OWNED BY limited; DROP ROLE limited")
    await by_hand.close()


@pytest.mark.slow
@pytest.mark.parametrize("late", ["a commit", "a large commit", "forgetting"])
async def test_a_commit_that_waits_for_who_overtakes_is_not_made(url: str, late: str) -> None:
    tables = PostgresTables(await open_migrated(url, "log"))
    await tables.claim(1)
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
            await tables.claim(1)
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


class BrokenClock(FakeClock):
    is_broken = False

    def __call__(self) -> int:
        if self.is_broken:
            raise ArithmeticError("no time")
        return super().__call__()


async def test_a_server_learns_of_it_also_where_its_other_work_fails_each_time(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    clock = BrokenClock()
    by_hand = Tuning(sweep_s=3600.0)
    async with running(tmp_path / "data", clock, by_hand, lost=told.append) as control:
        other = await SqliteSegments.open(tmp_path / "data" / "log.db")
        control.core.log.append(await control.core.log.open("s"), "late")
        await control.stalled()
        clock.is_broken = True
        with pytest.raises(ArithmeticError):
            control.sweep()
        clock.is_broken = False
        assert told == [overtaken().message]
        await other.close()
