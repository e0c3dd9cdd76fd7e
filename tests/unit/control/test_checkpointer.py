"""The write-ahead log of the session log stays bounded, and no commit is lost while it moves."""

import threading
from pathlib import Path

import pytest

from trunkline import limits
from trunkline.control.store.segments import Segment, SqliteSegments


async def test_the_write_ahead_log_stays_bounded_while_commits_never_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOG_CHECKPOINT_COMMITS", 10)
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
    monkeypatch.setattr(limits, "LOG_CHECKPOINT_COMMITS", 10)
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


async def test_what_was_moved_and_what_was_not_is_there_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOG_CHECKPOINT_COMMITS", 7)
    for start in range(1, 61, 20):
        store = await SqliteSegments.open(tmp_path / "log.db")
        for number in range(start, start + 20):
            await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
        await store.close()
    store = await SqliteSegments.open(tmp_path / "log.db")
    assert len(await store.read("s1", 0, 100)) == 60
    await store.close()
