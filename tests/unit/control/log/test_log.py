"""The log commits, then delivers; readers see every event once, in order, whatever happens."""

import asyncio
import gc
import random
from collections.abc import AsyncIterator, Callable
from itertools import repeat
from pathlib import Path

import pytest

from tests.support.committed import commit
from tests.unit.control.log.gated import GatedStore
from trunkline import limits
from trunkline.control.clock import now_ms
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import Batch, SessionLog
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import Head, Segment
from trunkline.control.tuning import Tuning
from trunkline.control.watchers import Watchers


class Collector:
    """A reader that keeps what it gets."""

    def __init__(self) -> None:
        self.events: list[tuple[int, str]] = []
        self.resyncs = 0

    def deliver(self, batch: Batch) -> None:
        self.events += enumerate(batch.lines, batch.first_id)

    def resync(self) -> None:
        self.resyncs += 1


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[SqliteSegments]:
    store = await SqliteSegments.open(tmp_path / "log.db")
    yield store
    await store.close()


async def test_nothing_is_delivered_before_it_is_committed() -> None:
    store = GatedStore()
    log = Log(store, now_ms)
    session = await log.open("s1")
    reader = Collector()
    await log.follow(session, reader, 0)
    log.append(session, "a")
    await store.called.wait()
    assert reader.events == []
    assert session.last_id == 0
    store.gate.release()
    await log.flushed()
    assert reader.events == [(1, "a")]


async def test_events_that_come_during_a_commit_become_one_transaction() -> None:
    store = GatedStore()
    log = Log(store, now_ms)
    one, other = await log.open("s1"), await log.open("s2")
    log.append(one, "a")
    await store.called.wait()
    for number in range(100):
        log.append(one, f"b{number}")
        log.append(other, f"c{number}")
    store.gate.release()
    store.gate.release()
    await log.flushed()
    assert store.calls == 2
    assert [(segment.session_id, len(segment.lines)) for segment in store.committed] == [
        ("s1", 1),
        ("s1", 100),
        ("s2", 100),
    ]


@pytest.mark.parametrize("has_line", [True, False])
async def test_a_session_is_deleted_when_its_own_events_are_committed_whoever_else_goes_on(
    has_line: bool,
) -> None:
    store = GatedStore()
    log = Log(store, now_ms)
    one, other = await log.open("s1"), await log.open("s2")
    if has_line:
        log.append(one, "a")
    else:
        one.numbered(5)
        log.taken(one)
    deleting = asyncio.create_task(log.delete("s1"))
    await store.commits(1)
    assert not deleting.done()
    log.append(other, "b")
    store.gate.release()
    await deleting
    assert [segment.session_id for segment in store.committed] == ["s1"]
    store.free()
    await log.flushed()


async def test_a_failing_disk_delays_events_and_loses_none() -> None:
    store = GatedStore()
    store.failures = 3
    stalls: list[str | None] = []
    told: Watchers[str | None] = Watchers()
    told.watch(stalls.append)
    log = Log(store, now_ms, Tuning(retry_s=0.0, stall_s=3600.0), stalls=told)
    session = await log.open("s1")
    reader = Collector()
    await log.follow(session, reader, 0)
    log.append(session, "a")
    await store.called.wait()
    log.append(session, "b")
    for _ in range(6):
        store.gate.release()
    await log.flushed()
    assert reader.events == [(1, "a"), (2, "b")]
    assert stalls == ["disk full", None]


async def test_a_log_that_is_let_go_while_others_are_read_keeps_its_place(
    tmp_path: Path,
) -> None:
    """Its last holder left in the middle of `open_all`, and it began again at 1."""
    kept: list[SessionLog] = []

    class Slow(SqliteSegments):
        async def heads(self, session_ids: list[str]) -> dict[str, Head]:
            kept.clear()
            gc.collect()
            return await super().heads(session_ids)

    disk = await Slow.open(tmp_path / "log.db")
    log = Log(disk, now_ms)
    kept.append(await log.open("s1"))
    await commit(log, kept[0], "a")
    opened = await log.open_all(["s1", "s2"])
    assert (opened["s1"].last_id, opened["s2"].last_id) == (1, 0)
    await disk.close()


async def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    tmp_path: Path,
) -> None:
    failures = ["disk full"]

    class Lossy(SqliteSegments):
        async def append(self, segments: list[Segment], *, again: bool = False) -> None:
            await super().append(segments, again=again)
            if failures:
                raise OSError(failures.pop())

    disk = await Lossy.open(tmp_path / "log.db")
    log = Log(disk, now_ms, Tuning(retry_s=0.0))
    session = await log.open("s1")
    reader = Collector()
    await log.follow(session, reader, 0)
    await commit(log, session, "a")
    await commit(log, session, "b")
    assert reader.events == [(1, "a"), (2, "b")]
    assert await disk.read("s1", 0, 10) == [(1, "a"), (2, "b")]
    await disk.close()


async def test_a_reader_that_fails_does_not_keep_the_log_from_others(
    disk: SqliteSegments,
) -> None:
    class Broken(Collector):
        def deliver(self, batch: Batch) -> None:
            raise RuntimeError("broken")

    log = Log(disk, now_ms)
    session = await log.open("s1")
    reader = Collector()
    session.attach(Broken())
    await log.follow(session, reader, 0)
    await commit(log, session, "a")
    assert await commit(log, session, "b") == 2
    assert reader.events == [(1, "a"), (2, "b")]


async def test_a_ring_of_large_events_is_bounded_in_bytes(disk: SqliteSegments) -> None:
    log = Log(disk, now_ms, Tuning(ring_bytes_max=10_000))
    session = await log.open("s1")
    for _ in range(30):
        await commit(log, session, "x" * 1000)
    assert len(session.ring) == 10
    near, far = Collector(), Collector()
    await log.follow(session, near, 25)
    await log.follow(session, far, 2)
    assert [number for number, _ in near.events] == [26, 27, 28, 29, 30]
    assert (far.events, far.resyncs) == ([], 1)


async def test_large_events_come_back_from_disk_under_their_own_ids(
    tmp_path: Path,
) -> None:
    disk = await SqliteSegments.open(
        tmp_path / "log.db", tuning=Tuning(events_page_bytes_max=3_000)
    )
    before = Log(disk, now_ms)
    session = await before.open("s1")
    events = [(number, f"{number} {'x' * 1000}") for number in range(1, 31)]
    for _, line in events:
        await commit(before, session, line)
    log = Log(disk, now_ms)
    session, reader = await log.open("s1"), Collector()
    await log.follow(session, reader, 10)
    assert (reader.events, reader.resyncs) == (events[10:], 0)
    await disk.fold(all=True)
    log = Log(disk, now_ms)
    session, positions = await log.open("s1"), (20, 5, 28, 5)
    several = [Collector() for _ in positions]  # that come in the same moment
    await asyncio.gather(*map(log.follow, repeat(session), several, positions))
    for one, position in zip(several, positions, strict=True):
        assert (one.events, one.resyncs) == (events[position:], 0), position
    log = Log(disk, now_ms, Tuning(ring_bytes_max=5_000))
    session, far = await log.open("s1"), Collector()
    await log.follow(session, far, 10)
    assert (far.events, far.resyncs) == ([], 1)
    await disk.close()


async def test_the_newest_events_are_the_newest_and_a_range_is_whole_however_large_they_are(
    tmp_path: Path,
) -> None:
    disk = await SqliteSegments.open(
        tmp_path / "log.db", tuning=Tuning(events_page_bytes_max=3_500)
    )
    log = Log(disk, now_ms, Tuning(events_page_bytes_max=3_500, ring_bytes_max=1_500))
    session = await log.open("s1")
    for _ in range(20):
        await commit(log, session, "x" * 1000)
    found = [event_id async for page in log.pages(session, 4, 18) for event_id, _ in page]
    assert found == list(range(5, 19))
    assert [event_id for event_id, _ in await log.newest(session, 20, 10)] == [18, 19, 20]
    assert [event_id for event_id, _ in await log.newest(session, 18, 2)] == [17, 18]
    await disk.close()


async def test_waiting_for_an_event_gives_the_id_that_readers_see(disk: SqliteSegments) -> None:
    log = Log(disk, now_ms)
    session = await log.open("s1")
    log.append(session, "first")
    assert await commit(log, session, "second") == 2
    assert await commit(log, session, "third") == 3
    assert await log.read(session, 0, 10) == [(1, "first"), (2, "second"), (3, "third")]


async def test_ids_go_on_after_the_process_is_gone(disk: SqliteSegments) -> None:
    before = Log(disk, now_ms)
    session = await before.open("s1")
    session.numbered(17)
    await commit(before, session, "a")
    after = await Log(disk, now_ms).open("s1")
    assert after is not session
    assert (after.last_id, after.machine_seq) == (1, 17)


async def test_there_is_one_log_of_a_session_while_anybody_holds_it(disk: SqliteSegments) -> None:
    log = Log(disk, now_ms)
    opened = await asyncio.gather(*(log.open("s1") for _ in range(10)))
    assert len({id(one) for one in opened}) == 1


async def test_a_ring_that_nobody_uses_is_emptied_and_comes_back_from_disk(
    disk: SqliteSegments,
) -> None:
    log = Log(disk, now_ms)
    session = await log.open("s1")
    for number in range(1, 31):
        log.append(session, f"e{number}")
    await log.flushed()
    log.tidy()
    assert len(session.ring) == 30
    log.tidy()
    assert len(session.ring) == 0
    reader = Collector()
    await log.follow(session, reader, 10)
    assert reader.events == [(number, f"e{number}") for number in range(11, 31)]
    assert reader.resyncs == 0


@pytest.mark.parametrize("seed", range(8))
async def test_readers_that_come_and_go_at_random_see_each_event_once(
    disk: SqliteSegments, seed: int
) -> None:
    """A seeded run: appends, readers, restarts of memory, in any order."""
    random_choice = random.Random(seed)
    log = Log(disk, now_ms)
    session = await log.open("s1")
    positions: list[tuple[Collector, int]] = []
    following: list[asyncio.Task[None]] = []
    appended = 0

    def append() -> None:
        nonlocal appended
        for _ in range(random_choice.randint(1, 60)):
            appended += 1
            log.append(session, f"e{appended}")

    def join() -> None:
        reader = Collector()
        start = random_choice.randint(0, session.last_id)
        positions.append((reader, start))
        following.append(asyncio.create_task(log.follow(session, reader, start)))

    def forget() -> None:
        log.tidy()
        log.tidy()

    async def let_go() -> None:
        await log.flushed()

    steps: list[Callable[[], object]] = [append, append, append, join, forget]
    for _ in range(120):
        random_choice.choice(steps)()
        if random_choice.random() < 0.5:
            await asyncio.sleep(0)
        if random_choice.random() < 0.1:
            await let_go()
    await asyncio.gather(*following)
    await log.flushed()
    for reader, start in positions:
        first = reader.events[0][0] if reader.events else appended + 1
        assert reader.events == [(number, f"e{number}") for number in range(first, appended + 1)]
        if not reader.resyncs:
            assert first == start + 1
    assert len(session.ring) <= limits.RING_EVENTS


async def test_a_number_is_acknowledged_when_it_is_stored_though_its_event_is_not(
    disk: SqliteSegments,
) -> None:
    log = Log(disk, now_ms)
    session, reader = await log.open("s1"), Collector()
    await commit(log, session, "a")
    await log.follow(session, reader, 1)
    acked: list[int] = []
    session.on_safe = lambda _session, seq: acked.append(seq)
    session.numbered(7)
    log.taken(session)
    assert acked == []
    await log.flushed()
    assert acked == [7]
    assert (session.last_id, reader.events) == (1, [])
    reopened = await Log(disk, now_ms).open("s1")
    assert (reopened.last_id, reopened.machine_seq) == (1, 7)


async def test_a_number_without_an_event_in_the_middle_of_others_is_committed_with_them() -> None:
    store = GatedStore()
    log = Log(store, now_ms)
    session = await log.open("s1")
    log.append(session, "a")
    await store.called.wait()
    for seq in (1, 2):
        session.numbered(seq)
        log.taken(session)
    log.append(session, "b")
    store.gate.release()
    store.gate.release()
    await log.flushed()
    assert [(one.lines, one.machine_seq) for one in store.committed] == [(["a"], None), (["b"], 2)]


async def test_without_numbers_there_is_nothing_to_store_of_an_event_that_is_not_shown() -> None:
    store = GatedStore()
    log = Log(store, now_ms)
    log.taken(await log.open("s1"))
    await log.flushed()
    assert store.calls == 0
