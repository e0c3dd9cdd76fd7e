"""The write-ahead log of the session log stays bounded, and no commit is lost while it moves."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from trunkline.control.log.checkpointer import Checkpointer
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.log.store import Segment


async def test_the_write_ahead_log_stays_bounded_while_commits_never_pause(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    checkpointer = Checkpointer(path, due_pages=30, pages_max=200)
    store = await SqliteSegments.open(path, checkpointer=checkpointer)
    for number in range(1, 1501):
        await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
    size = (tmp_path / "log.db-wal").stat().st_size
    # Without being moved, 1500 commits would make over 6 MiB.
    assert size < 4 * 1024 * 1024
    events = await store.read("s1", 0, 2000)
    assert events == [(number, f"e{number}") for number in range(1, 1501)]
    await store.close()


async def test_a_thread_that_gets_no_turn_does_not_let_the_write_ahead_log_grow(
    tmp_path: Path,
) -> None:
    thread, turn = ThreadPoolExecutor(1), threading.Event()
    thread.submit(turn.wait)
    path = tmp_path / "log.db"
    checkpointer = Checkpointer(path, due_pages=30, pages_max=200, thread=thread)
    store = await SqliteSegments.open(path, checkpointer=checkpointer)
    for number in range(1, 1501):
        await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
    size = (tmp_path / "log.db-wal").stat().st_size
    turn.set()
    await store.close()
    assert size < 4 * 1024 * 1024


@pytest.mark.parametrize("gets_no_turn", [False, True])
async def test_commits_of_many_sessions_do_not_let_the_write_ahead_log_grow(
    tmp_path: Path, gets_no_turn: bool
) -> None:
    thread, turn = ThreadPoolExecutor(1), threading.Event()
    if gets_no_turn:
        thread.submit(turn.wait)
    # 4 MiB at most.
    path = tmp_path / "log.db"
    checkpointer = Checkpointer(path, pages_max=1000, thread=thread)
    store = await SqliteSegments.open(path, checkpointer=checkpointer)
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


class Told(Executor):
    """Does what it was given first when it is told to, and nothing else."""

    def __init__(self) -> None:
        self.first: Callable[[], Any] | None = None

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        self.first = self.first or call
        done: Future[Any] = Future()
        done.set_result(None)
        return done


async def test_what_the_thread_had_to_leave_is_moved_long_before_the_write_ahead_log_is_full(
    tmp_path: Path,
) -> None:
    path, thread = tmp_path / "log.db", Told()
    checkpointer = Checkpointer(path, due_pages=40, rest_pages=20, pages_max=100_000, thread=thread)
    store = await SqliteSegments.open(path, checkpointer=checkpointer)

    async def commit(*numbers: int) -> int:
        for number in numbers:
            await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
        return (tmp_path / "log.db-wal").stat().st_size

    await commit(*range(1, 31))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM journal").fetchone() == (30,)
    before = await commit(31)  # which the reader does not see, and the thread cannot move
    assert thread.first is not None
    thread.first()
    reader.close()
    after = await commit(*range(32, 72))
    await store.close()
    # A log that is started anew is written over from its beginning.
    assert after - before < 40 * 4096 // 2


@pytest.mark.parametrize(
    ("pages", "passes"),
    [
        ([90], 1),  # it may go on growing
        ([1000, 1300, 1450, 1470], 4),
        ([1000, 1010], 2),
        ([1000, 2000, 3000, 4000, 5000], 5),  # in vain: it is never hardly anything
        ([1000, 40], 2),  # a commit found all of it moved, and began it anew
    ],
)
def test_the_thread_moves_until_hardly_anything_is_left_for_the_writer(
    tmp_path: Path, pages: list[int], passes: int
) -> None:
    """Each commit would wait for what the writer has to sync."""
    thread, writer = Told(), sqlite3.connect(tmp_path / "log.db")
    told, moved = iter(pages), list[sqlite3.Connection]()

    def move(connection: sqlite3.Connection) -> int:
        moved.append(connection)
        return next(told, 0)

    checkpointer = Checkpointer(
        tmp_path / "log.db", due_pages=40, rest_pages=100, thread=thread, move=move
    )
    checkpointer.committed(writer, rows=40, size_bytes=0)
    assert thread.first is not None
    assert moved == []
    thread.first()
    assert len(moved) == passes
    assert writer not in moved
    checkpointer.committed(writer, rows=20, size_bytes=0)
    assert (moved[-1] is writer) is (pages[-1] > 100)
    writer.close()


class Slow(Executor):
    """One thread, whose first work takes until somebody would rather have it cancelled."""

    def __init__(self, order: list[str]) -> None:
        self._order = order
        self.begun, self._asked = threading.Event(), threading.Event()

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        done = Impatient(self._order, self._asked)

        def work() -> None:
            self.begun.set()
            self._asked.wait(60)
            result = call(*arguments, **named)
            self._order.append("moved")
            done.set_result(result)

        threading.Thread(target=work).start()
        return done


class Impatient(Future[Any]):
    def __init__(self, order: list[str], asked: threading.Event) -> None:
        super().__init__()
        self._order, self._asked = order, asked

    def cancel(self) -> bool:
        """It is too late for that."""
        self._order.append("full")
        self._asked.set()
        return False


async def test_a_checkpoint_that_takes_long_is_waited_for_when_the_write_ahead_log_is_full(
    tmp_path: Path,
) -> None:
    order: list[str] = []
    thread = Slow(order)
    path = tmp_path / "log.db"
    checkpointer = Checkpointer(path, due_pages=30, pages_max=200, thread=thread)
    store = await SqliteSegments.open(path, checkpointer=checkpointer)
    for number in range(1, 1501):
        await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
        if number == 10:
            assert thread.begun.wait(60)
        if order and len(order) < 3:
            order.append("committed")
    size = (tmp_path / "log.db-wal").stat().st_size
    assert order[:3] == ["full", "moved", "committed"]
    assert len(await store.read("s1", 0, 2000)) == 1500
    await store.close()
    assert size < 4 * 1024 * 1024


async def test_what_was_moved_and_what_was_not_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    for start in range(1, 61, 20):
        checkpointer = Checkpointer(path, due_pages=21)
        store = await SqliteSegments.open(path, checkpointer=checkpointer)
        for number in range(start, start + 20):
            await store.append([Segment("s1", number, [f"e{number}"], f"e{number}", 1, None)])
        await store.close()
    store = await SqliteSegments.open(tmp_path / "log.db")
    assert len(await store.read("s1", 0, 100)) == 60
    await store.close()
