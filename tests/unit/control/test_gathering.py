"""Lookups that are done together: each caller gets what it would have got alone."""

import asyncio

import pytest

from trunkline.control.gathering import Gathering


class Table:
    """Rows that are looked at when the test lets a look through."""

    def __init__(self, **rows: int) -> None:
        self.rows = rows
        self.looks: list[list[str]] = []
        self.may_look = asyncio.Semaphore(0)

    async def look(self, keys: list[str]) -> dict[str, int]:
        self.looks.append(keys)
        await self.may_look.acquire()
        if "broken" in keys:
            raise RuntimeError("no such column")
        return {key: self.rows[key] for key in keys if key in self.rows}

    async def has_begun(self, looks: int) -> None:
        while len(self.looks) < looks:
            await asyncio.sleep(0)


def asked(table: Gathering[str, int], *keys: str) -> list[asyncio.Task[int | None]]:
    return [asyncio.create_task(table.get(key)) for key in keys]


async def test_who_asks_in_the_same_moment_shares_one_look() -> None:
    table = Table(a=1, b=2)
    table.may_look.release()
    gathered = Gathering(table.look)
    found = await asyncio.gather(*asked(gathered, "a", "b", "a", "gone"))
    assert (found, table.looks) == ([1, 2, 1, None], [["a", "b", "gone"]])


async def test_a_look_that_began_before_the_question_does_not_answer_it() -> None:
    table = Table(a=1)
    gathered = Gathering(table.look)
    early = asked(gathered, "a")
    await table.has_begun(1)
    late = asked(gathered, "a", "b")
    await asyncio.sleep(0)
    table.may_look.release()
    assert await early[0] == 1
    del table.rows["a"]  # as a token that was revoked meanwhile
    table.rows["b"] = 2
    table.may_look.release()
    assert await asyncio.gather(*late) == [None, 2]


async def test_what_fails_for_one_does_not_fail_the_others() -> None:
    table = Table(a=1, b=2)
    gathered = Gathering(table.look)
    tasks = asked(gathered, "a", "broken", "b")
    table.may_look.release()  # of all together
    await table.has_begun(4)  # each alone, and none waits for another
    for _ in range(3):
        table.may_look.release()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert found[::2] == [1, 2]
    assert isinstance(found[1], RuntimeError)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("turns", range(5))
async def test_who_stops_waiting_takes_nobody_along(place: int, turns: int) -> None:
    """Whoever it is, and whenever: before the look, in it, or with the next one to lead."""
    table = Table(a=1)
    gathered = Gathering(table.look, at_once=2)
    tasks = asked(gathered, "a", "a", "a")
    leaves = tasks.pop(place)
    for _ in range(turns):
        await asyncio.sleep(0)
    leaves.cancel()
    for _ in range(3):
        table.may_look.release()
    assert await asyncio.gather(*tasks) == [1, 1]
    with pytest.raises(asyncio.CancelledError):
        await leaves


async def test_a_look_that_is_cut_off_is_taken_up_by_the_next() -> None:
    table = Table(a=1)
    gathered = Gathering(table.look)
    leads, follows = asked(gathered, "a", "b")
    await table.has_begun(1)
    leads.cancel()
    await table.has_begun(2)
    follows.cancel()  # in the very turn in which it leads
    late = asked(gathered, "a")
    table.may_look.release()
    assert await late[0] == 1
    assert (leads.cancelled(), follows.cancelled()) == (True, True)
    assert table.looks[:2] == [["a", "b"], ["b"]]


async def test_no_look_goes_on_when_nobody_is_left_who_asked() -> None:
    table = Table(a=1)
    gathered = Gathering(table.look)
    tasks = asked(gathered, "a", "b")
    await table.has_begun(1)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_one_look_is_for_so_many_keys_at_most() -> None:
    table = Table(a=1, b=2, c=3)
    for _ in range(2):
        table.may_look.release()
    gathered = Gathering(table.look, at_once=2)
    assert await gathered.some(["a", "b", "c"]) == {"a": 1, "b": 2, "c": 3}
    assert table.looks == [["a", "b"], ["c"]]
    assert await gathered.some([]) == {}
