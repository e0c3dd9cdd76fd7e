"""The write-ahead log of the session log stays bounded, and no commit is lost while it moves."""

import sqlite3
import threading
from concurrent.futures import Future, wait
from pathlib import Path

import pytest

from trunkline import limits
from trunkline.control.log import checkpointer
from trunkline.control.log.segments import Segment, SqliteSegments


async def test_the_write_ahead_log_stays_bounded_while_commits_never_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOG_CHECKPOINT_PAGES", 30)
    monkeypatch.setattr(limits, "LOG_WAL_PAGES_MAX", 200)
    store = await SqliteSegments.open(tmp_path / "log.db")
    for number in range(1, 1501):
        await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
    size = (tmp_path / "log.db-wal").stat().st_size
    # Without being moved, 1500 commits would make over 6 MiB.
    assert size < 4 * 1024 * 1024
    events = await store.read("s1", 0, 2000)
    assert events == [(number, f"e{number}") for number in range(1, 1501)]
    await store.close()


async def test_a_thread_that_gets_no_turn_does_not_let_the_write_ahead_log_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOG_CHECKPOINT_PAGES", 30)
    monkeypatch.setattr(limits, "LOG_WAL_PAGES_MAX", 200)
    store = await SqliteSegments.open(tmp_path / "log.db")
    turn = threading.Event()
    store._checkpointer._thread.submit(turn.wait)
    for number in range(1, 1501):
        await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
    size = (tmp_path / "log.db-wal").stat().st_size
    turn.set()
    await store.close()
    assert size < 4 * 1024 * 1024


@pytest.mark.parametrize("gets_no_turn", [False, True])
async def test_commits_of_many_sessions_do_not_let_the_write_ahead_log_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gets_no_turn: bool
) -> None:
    monkeypatch.setattr(limits, "LOG_WAL_PAGES_MAX", 1000)  # 4 MiB
    store = await SqliteSegments.open(tmp_path / "log.db")
    turn = threading.Event()
    if gets_no_turn:
        store._checkpointer._thread.submit(turn.wait)
    for number in range(1, 41):
        # Spread over the tree, so that each row is on a page of its own.
        names = [f"s{(place * 7919) % 300:05d}" for place in range(300)]
        await store.append(
            [Segment(name, number, ["e" * 120], "e" * 120, 1, None) for name in names]
        )
    size = (tmp_path / "log.db-wal").stat().st_size
    turn.set()
    assert len(await store.read("s00299", 0, 100)) == 40
    await store.close()
    # The commit that goes past the bound is in it too. Without being moved: over 60 MiB.
    assert size < 8 * 1024 * 1024


async def test_a_checkpoint_that_takes_long_is_waited_for_when_the_write_ahead_log_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOG_CHECKPOINT_PAGES", 30)
    monkeypatch.setattr(limits, "LOG_WAL_PAGES_MAX", 200)
    move, order = checkpointer._tried, list[str]()
    begun, turn = threading.Event(), threading.Event()

    def move_slowly(connection: sqlite3.Connection) -> int:
        by_thread = threading.current_thread().name.startswith("log checkpoint")
        if by_thread:
            begun.set()
            turn.wait(60)
        pages = move(connection)
        order.append("thread" if by_thread else "writer")
        return pages

    def let_go(futures: list[Future[None]]) -> object:
        turn.set()
        return wait(futures)

    monkeypatch.setattr(checkpointer, "_tried", move_slowly)
    monkeypatch.setattr(checkpointer, "wait", let_go)
    store = await SqliteSegments.open(tmp_path / "log.db")
    for number in range(1, 1501):
        await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
        if number == 10:
            assert begun.wait(60)
    size = (tmp_path / "log.db-wal").stat().st_size
    assert order[:2] == ["thread", "writer"]
    assert len(await store.read("s1", 0, 2000)) == 1500
    await store.close()
    assert size < 4 * 1024 * 1024


async def test_what_was_moved_and_what_was_not_is_there_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOG_CHECKPOINT_PAGES", 21)
    for start in range(1, 61, 20):
        store = await SqliteSegments.open(tmp_path / "log.db")
        for number in range(start, start + 20):
            await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
        await store.close()
    store = await SqliteSegments.open(tmp_path / "log.db")
    assert len(await store.read("s1", 0, 100)) == 60
    await store.close()
