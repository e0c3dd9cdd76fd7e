"""Notes in the log: numbered, committed with the events around them, never shown."""

import asyncio

import pytest

from tests.unit.control.log.gated import GatedStore
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import Batch
from trunkline.control.log.store import Head, NoteRow
from trunkline.control.tuning import Tuning


class Collector:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def deliver(self, batch: Batch) -> None:
        self.lines += batch.lines

    def resync(self) -> None:
        raise AssertionError("nothing was missed")


@pytest.fixture
def store() -> GatedStore:
    return GatedStore()


@pytest.fixture
def log(store: GatedStore) -> Log:
    return Log(store, lambda: 77, Tuning(retry_s=0.0))


async def test_a_note_says_behind_which_event_it_stands(store: GatedStore, log: Log) -> None:
    session = await log.open("s")
    log.note(session, "n1")
    log.append(session, "a")
    log.note(session, "n2")
    log.append(session, "b")
    log.append(session, "c")
    log.note(session, "n3")
    store.free()
    await log.flushed()
    log.note(session, "n4")
    await log.flushed()
    assert [one.lines for one in store.committed] == [["a", "b", "c"], []]
    assert [one.notes for one in store.committed] == [
        [NoteRow(1, 0, "n1"), NoteRow(2, 1, "n2"), NoteRow(3, 3, "n3")],
        [NoteRow(4, 3, "n4")],
    ]


async def test_what_comes_during_a_commit_stands_behind_what_is_being_committed(
    store: GatedStore, log: Log
) -> None:
    session = await log.open("s")
    log.append(session, "a")
    await store.called.wait()
    log.note(session, "n")
    log.append(session, "b")
    store.free()
    await log.flushed()
    assert [list(one.notes) for one in store.committed] == [[], [NoteRow(1, 1, "n")]]
    assert store.committed[1].first_id == 2


async def test_numbers_go_on_where_the_log_on_disk_ends(store: GatedStore, log: Log) -> None:
    store.known["s"] = Head(5, None, 3)
    session = await log.open("s")
    log.note(session, "n")
    store.free()
    await log.flushed()
    assert store.committed[0].notes == [NoteRow(4, 5, "n")]


async def test_readers_are_not_shown_notes(store: GatedStore, log: Log) -> None:
    session = await log.open("s")
    reader = Collector()
    await log.follow(session, reader, 0)
    log.note(session, "n1")
    log.append(session, "a")
    log.note(session, "n2")
    store.free()
    await log.flushed()
    assert reader.lines == ["a"]
    assert (session.last_id, log.events_total) == (1, 1)
    assert await log.read(session, 0, 10) == [(1, "a")]


async def test_calls_are_made_behind_the_commit_in_their_order(store: GatedStore, log: Log) -> None:
    session, other = await log.open("s"), await log.open("other")
    made: list[str] = []

    def call(name: str) -> None:
        log.after_commit(session, lambda at: made.append(f"{name} at {at}"))

    call("at once")
    assert made == ["at once at 77"]
    log.note(session, "n")
    call("first")
    log.append(other, "x")
    await store.called.wait()
    call("second")  # behind what the disk is at
    log.append(session, "a")
    call("third")
    assert made == ["at once at 77"]
    store.gate.release()
    await store.commits(2)
    assert made == ["at once at 77", "first at 77", "second at 77"]
    store.free()
    await log.flushed()
    assert made[3:] == ["third at 77"]


async def test_a_call_comes_behind_the_delivery_to_readers(store: GatedStore, log: Log) -> None:
    session = await log.open("s")
    reader = Collector()
    await log.follow(session, reader, 0)
    log.append(session, "a")
    seen: list[list[str]] = []
    log.after_commit(session, lambda _at: seen.append(list(reader.lines)))
    store.free()
    await log.flushed()
    assert seen == [["a"]]


async def test_a_call_waits_for_its_own_session_only(store: GatedStore, log: Log) -> None:
    session, other = await log.open("s"), await log.open("other")
    log.append(session, "a")
    made: list[str] = []
    log.after_commit(other, lambda _at: made.append("other"))
    assert made == ["other"]
    store.free()
    await log.flushed()


async def test_a_call_that_fails_keeps_no_other_from_being_made(
    store: GatedStore, log: Log
) -> None:
    session = await log.open("s")
    made: list[str] = []

    def fail(_at: int) -> None:
        raise RuntimeError("broken")

    log.append(session, "a")
    log.after_commit(session, fail)
    log.after_commit(session, lambda _at: made.append("next"))
    store.free()
    await log.flushed()
    assert made == ["next"]


async def test_a_call_that_is_asked_for_by_another_comes_behind_those_that_wait(
    store: GatedStore, log: Log
) -> None:
    session = await log.open("s")
    made: list[str] = []

    def first(_at: int) -> None:
        made.append("first")
        log.after_commit(session, lambda _at: made.append("asked for by the first"))

    log.append(session, "a")
    log.after_commit(session, first)
    log.after_commit(session, lambda _at: made.append("second"))
    store.free()
    await log.flushed()
    assert made == ["first", "second", "asked for by the first"]


async def test_a_failing_disk_delays_calls_and_loses_none(store: GatedStore, log: Log) -> None:
    session = await log.open("s")
    made: list[str] = []
    store.failures = 2
    log.note(session, "n")
    log.after_commit(session, lambda _at: made.append("done"))
    for _ in range(2):
        store.gate.release()
    await store.commits(3)
    assert made == []
    store.free()
    await log.flushed()
    assert made == ["done"]
    assert [one.notes for one in store.committed] == [[NoteRow(1, 0, "n")]]


async def test_who_waits_for_a_commit_may_go_away(store: GatedStore, log: Log) -> None:
    session = await log.open("s")
    log.note(session, "n")
    waiting = asyncio.ensure_future(log.committed(session))
    await store.called.wait()
    waiting.cancel()
    store.free()
    await log.flushed()
    await log.committed(session)
    assert waiting.cancelled()
