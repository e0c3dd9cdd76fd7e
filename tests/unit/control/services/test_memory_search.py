"""Which memories are found by their words, where many have some of them."""

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
