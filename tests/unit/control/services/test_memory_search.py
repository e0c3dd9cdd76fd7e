"""Which memories are found by their words, where many have some of them."""

import pytest
from sqlalchemy import insert

from tests.unit.control.services.conftest import World
from trunkline.control.ids import new_id
from trunkline.control.services import memory_terms
from trunkline.control.services.memory_search import MATCHES_MAX, by_words
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import memories


async def remember(store: Store, org: str, contents: list[str], first_row: int) -> list[str]:
    rows = [
        {
            "id": new_id(),
            "org_id": org,
            "content": content,
            "terms": memory_terms.indexed(content),
            "metadata": {},
            "fts_rowid": first_row + number,
            "created_at": 1,
        }
        for number, content in enumerate(contents)
    ]
    async with store.write() as connection:
        await connection.execute(insert(memories), rows)
    return [str(row["id"]) for row in rows]


async def test_a_rare_word_finds_its_memory_whatever_most_of_them_have(
    world: World, store: Store
) -> None:
    many = [f"the meeting number {number} was moved" for number in range(MATCHES_MAX + 10)]
    await remember(store, world.org, many, 1)
    [rare] = await remember(store, world.org, ["a meeting in Zanzibar"], 10_000)
    await remember(store, world.other_org, ["Zanzibar of others"], 20_000)
    async with store.read() as connection:
        found = await by_words(connection, world.org, None, ["meeting", "zanzibar"])
        assert found == {rare: 1.0}
        common = await by_words(connection, world.org, None, ["meeting"])
        assert 0 < len(common) < MATCHES_MAX
        assert await by_words(connection, world.org, None, ["nothing"]) == {}
        assert await by_words(connection, world.org, None, []) == {}


async def test_nobody_learns_from_scores_how_many_others_remember_a_word(
    world: World, store: Store
) -> None:
    own = ["the apple report", "a trip to Zanzibar", "an apple from Zanzibar"]
    apple, trip, both = await remember(store, world.org, own, 1)

    async def searched() -> dict[str, float]:
        async with store.read() as connection:
            return await by_words(connection, world.org, None, ["apple", "zanzibar"])

    before = await searched()
    assert set(before) == {apple, trip, both}
    assert before[both] == 1.0
    others = [f"{number} ways to Zanzibar" for number in range(50)]
    await remember(store, world.other_org, others, 1_000)
    # A little depends on how long everybody's memories are on average.
    assert await searched() == pytest.approx(before, abs=0.01)


async def test_of_two_words_the_rarer_one_counts_for_more(world: World, store: Store) -> None:
    contents = ["a meeting on Monday", "a meeting on Tuesday", "a visit to Zanzibar"]
    *_, rare = await remember(store, world.org, contents, 1)
    async with store.read() as connection:
        found = await by_words(connection, world.org, None, ["meeting", "zanzibar"])
    assert len(found) == 3
    assert max(found, key=lambda one: found[one]) == rare
