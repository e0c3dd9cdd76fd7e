"""Provider keys, encrypted at rest (`control/records/credentials.py`)."""

import pytest
from sqlalchemy import select, update

from tests.unit.control.people import People
from trunkline.control.errors import InvalidRequest, LimitReached, NotFound
from trunkline.control.records import Records
from trunkline.control.records.credentials import PER_USER_MAX, NewCredential, Revealed
from trunkline.control.records.page import Paging
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


async def test_a_key_is_stored_unreadable_and_revealed_whole(
    records: Records, people: People, store: Store
) -> None:
    user_id = people.ann.user_id
    new = NewCredential(api_key="sk-very-secret", base_url="https://llm.example/v1")
    shown = await records.credentials.put(user_id, "openai", new)
    assert "secret" not in repr(shown) + repr(new)
    async with store.read() as connection:
        row = (await connection.execute(select(schema.credentials))).one()
    assert b"secret" not in row.sealed_key
    revealed = await records.credentials.reveal(user_id)
    assert revealed == [Revealed("openai", "sk-very-secret", "https://llm.example/v1")]
    assert "secret" not in repr(revealed)


async def test_a_newer_key_takes_the_place_of_the_older(records: Records, people: People) -> None:
    user_id = people.ann.user_id
    for key in ("one", "two"):
        await records.credentials.put(user_id, "openai", NewCredential(api_key=key))
    assert [one.api_key for one in await records.credentials.reveal(user_id)] == ["two"]
    assert len((await records.credentials.page(user_id, Paging())).items) == 1


async def test_a_sealed_key_opens_for_no_other_user(
    records: Records, people: People, store: Store
) -> None:
    await records.credentials.put(people.ann.user_id, "openai", NewCredential(api_key="k"))
    async with store.write() as connection:
        await connection.execute(update(schema.credentials).values(user_id=people.bob.user_id))
    assert await records.credentials.reveal(people.bob.user_id) == []


@pytest.mark.parametrize("provider", ["", "OpenAI", "a b", "../x", "x" * 61, "ключ", "-x", "x\n"])
async def test_a_provider_has_a_plain_name(records: Records, people: People, provider: str) -> None:
    with pytest.raises(InvalidRequest):
        await records.credentials.put(people.ann.user_id, provider, NewCredential(api_key="k"))


async def test_a_user_has_a_bounded_number_of_keys(records: Records, people: People) -> None:
    user_id = people.ann.user_id
    for number in range(PER_USER_MAX):
        await records.credentials.put(user_id, f"p{number}", NewCredential(api_key="k"))
    with pytest.raises(LimitReached):
        await records.credentials.put(user_id, "more", NewCredential(api_key="k"))
    await records.credentials.put(user_id, "p0", NewCredential(api_key="changed"))
    assert len(await records.credentials.reveal(user_id)) == PER_USER_MAX


async def test_a_removed_key_is_gone(records: Records, people: People) -> None:
    user_id = people.ann.user_id
    await records.credentials.put(user_id, "openai", NewCredential(api_key="k"))
    await records.credentials.remove(user_id, "openai")
    with pytest.raises(NotFound):
        await records.credentials.get(user_id, "openai")
    with pytest.raises(NotFound):
        await records.credentials.remove(user_id, "openai")
