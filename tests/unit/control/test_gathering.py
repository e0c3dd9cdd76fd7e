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


async def test_who_stops_waiting_takes_nobody_along() -> None:
    table = Table(a=1)
    gathered = Gathering(table.look)
    leaves, stays = asked(gathered, "a", "a")
    await table.has_begun(1)
    leaves.cancel()
    table.may_look.release()
    assert await stays == 1
    with pytest.raises(asyncio.CancelledError):
        await leaves


async def test_one_look_is_for_so_many_keys_at_most() -> None:
    table = Table(a=1, b=2, c=3)
    for _ in range(2):
        table.may_look.release()
    gathered = Gathering(table.look, at_once=2)
    assert await gathered.some(["a", "b", "c"]) == {"a": 1, "b": 2, "c": 3}
    assert table.looks == [["a", "b"], ["c"]]
    assert await gathered.some([]) == {}
