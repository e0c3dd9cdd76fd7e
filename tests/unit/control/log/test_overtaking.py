"""The journal while commits, deletes and folds are under way at once."""

import asyncio
import copy

from tests.support.memory_tables import MemoryTables, TablesDisk, inline
from trunkline import limits
from trunkline.control.log.journal import Journal
from trunkline.control.log.store import Segment
from trunkline.control.tuning import Tuning

QUIET = Tuning(fold_quiet_s=3_600.0, fold_bytes=limits.GIB, journal_bytes_max=limits.GIB)
"""Nothing is folded but by the test."""


def said(event_id: int, *session_ids: str) -> list[Segment]:
    line = f"{event_id} {'x' * 100}"
    return [Segment(one, event_id, [line], line, event_id, None) for one in session_ids]


async def ids(journal: Journal, session_id: str) -> list[int]:
    return [number for number, _ in await journal.read(session_id, 0, 10)]


async def test_a_delete_that_commits_overtake_is_folded_with_them() -> None:
    disk, may_delete = TablesDisk(), asyncio.Event()

    async def step(name: str) -> None:
        if name == "delete":
            await may_delete.wait()

    journal = Journal(MemoryTables(disk, step), QUIET, inline)
    await journal.append(said(1, "gone", "here"))
    deleting = asyncio.create_task(journal.delete("gone"))
    await asyncio.sleep(0)  # it has its number, and waits
    await journal.append(said(2, "here"))
    may_delete.set()
    await deleting
    await journal.fold(all=True)
    assert disk.journal == {}
    assert (await ids(journal, "gone"), await ids(journal, "here")) == ([], [1, 2])


async def test_a_commit_that_a_delete_overtakes_is_not_forgotten_before_it_is_folded() -> None:
    """It is made, and who made it does not know that yet when the fold behind the delete ends."""
    disk, may_know = TablesDisk(), asyncio.Event()

    async def step(name: str) -> None:
        if name == "appended":
            await may_know.wait()

    journal = Journal(MemoryTables(disk, step), QUIET, inline)
    committing = asyncio.create_task(journal.append(said(1, "here")))
    await asyncio.sleep(0)  # it is on the disk
    await journal.delete("gone")
    await journal.fold(all=True)
    # As after a death in this moment.
    started = Journal(MemoryTables(copy.deepcopy(disk)), QUIET, inline)
    await started.load()
    assert await ids(started, "here") == [1]
    may_know.set()
    await committing
    await journal.fold(all=True)
    assert disk.journal == {}
    assert await ids(journal, "here") == [1]


async def test_what_is_said_while_a_full_journal_is_folded_waits_for_the_next_fold() -> None:
    """Else each session's few words since would become a segment of their own."""
    folds = 0

    async def step(name: str) -> None:
        nonlocal folds
        folds += name == "fold"
        if name == "fold" and folds == 1:
            await journal.append(said(2, "s0"))

    disk, tuning = TablesDisk(), Tuning(fold_bytes=2_000, fold_quiet_s=3_600.0)
    journal = Journal(MemoryTables(disk, step), tuning, inline)
    await journal.append(said(1, *(f"s{number}" for number in range(30))))
    while 1 in disk.journal:
        await asyncio.sleep(0)
    for _ in range(50):
        await asyncio.sleep(0)
    assert list(disk.journal) == [2]
    await journal.close()
    assert disk.journal == {}
