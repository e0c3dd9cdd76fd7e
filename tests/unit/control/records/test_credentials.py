"""Provider keys, encrypted at rest (`control/records/credentials.py`)."""

import pytest
from sqlalchemy import select, update

from tests.unit.control.people import People
from trunkline.control.errors import InvalidRequest, LimitReached, NotFound
from trunkline.control.records import Records
from trunkline.control.records.credentials import (
    PER_USER_MAX,
    NewCredential,
    Revealed,
    from_environment,
)
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


def test_keys_and_addresses_are_found_by_their_usual_names() -> None:
    env = {"OPENAI_API_KEY": " sk-1 ", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "PATH": "/bin"}
    assert from_environment(env) == [
        Revealed("openai", "sk-1", None),
        Revealed("anthropic", "", "http://127.0.0.1:9"),
    ]


def test_an_empty_variable_is_none() -> None:
    assert from_environment({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": " "}) == []


def test_a_huge_value_is_refused_without_being_shown() -> None:
    with pytest.raises(InvalidRequest) as refused:
        from_environment({"OPENAI_API_KEY": "s" * 100_000})
    assert "sss" not in refused.value.message


async def test_a_lent_key_gives_way_to_the_users_own_and_is_nobody_elses(
    records: Records, people: People
) -> None:
    credentials, user_id = records.credentials, people.ann.user_id
    credentials.lend(user_id, [Revealed("openai", "lent", None), Revealed("brave", "b", None)])
    await credentials.put(user_id, "openai", NewCredential(api_key="own"))
    keys = {key.provider: key.api_key for key in await credentials.reveal(user_id)}
    assert keys == {"openai": "own", "brave": "b"}
    assert await credentials.reveal(people.bob.user_id) == []
