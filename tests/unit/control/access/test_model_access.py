"""Keys and addresses from the operator's environment."""

from pathlib import Path

import pytest
from sqlalchemy import insert

from trunkline.control.access.keys import Keys
from trunkline.control.access.model_access import from_environment
from trunkline.control.errors import InvalidRequest
from trunkline.control.records.credentials import Credentials, NewCredential, Revealed
from trunkline.control.store import schema
from trunkline.control.store.engine import Store, sqlite_url


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


async def test_a_lent_key_gives_way_to_the_users_own_and_is_nobody_elses(tmp_path: Path) -> None:
    store = await Store.open(sqlite_url(tmp_path / "records.db"))
    async with store.write() as connection:
        await connection.execute(insert(schema.orgs).values(id="o", name="o", created_at=1))
        for user in ("first", "other"):
            row = {"id": user, "org_id": "o", "name": user, "role": "member", "created_at": 1}
            await connection.execute(insert(schema.users).values(row))
    credentials = Credentials(store, Keys.open(tmp_path / "keys"), lambda: 1)
    credentials.lend("first", [Revealed("openai", "lent", None), Revealed("brave", "b", None)])
    await credentials.put("first", "openai", NewCredential(api_key="own"))
    keys = {key.provider: key.api_key for key in await credentials.reveal("first")}
    assert keys == {"openai": "own", "brave": "b"}
    assert await credentials.reveal("other") == []
    await store.close()
