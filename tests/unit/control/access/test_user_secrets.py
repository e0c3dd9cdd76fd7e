"""A person's one secret for all their agents: found by it, shown again, kept so that neither the
database alone nor another person's row gives it away."""

import asyncio

import pytest
from sqlalchemy import select, update

from tests.support.clock import FakeClock
from tests.unit.control.people import People
from trunkline.control.access.keys import Keys
from trunkline.control.access.user_secrets import UserSecrets
from trunkline.control.errors import NotFound, Unavailable
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


async def test_a_secret_is_made_once_and_finds_its_owner(
    store: Store, keys: Keys, clock: FakeClock
) -> None:
    people = await People.settle(store, clock)
    secrets = UserSecrets(store, keys)
    shown = await asyncio.gather(*(secrets.show(people.ann.user_id) for _ in range(5)))
    assert len(set(shown)) == 1
    assert shown[0].startswith("ya_")
    assert await secrets.find(shown[0]) == people.ann.user_id
    assert await secrets.show(people.bob.user_id) != shown[0]


async def test_a_renewed_secret_replaces_the_old_one(
    store: Store, keys: Keys, clock: FakeClock
) -> None:
    people = await People.settle(store, clock)
    secrets = UserSecrets(store, keys)
    old = await secrets.show(people.ann.user_id)
    new = await secrets.renew(people.ann.user_id)
    assert new != old
    assert await secrets.find(old) is None
    assert await secrets.find(new) == people.ann.user_id


@pytest.mark.parametrize("secret", ["", "ya_wrong", "x" * 100_000, "ya_\x00", "ya_\ud800"])
async def test_a_wrong_secret_finds_nobody(
    store: Store, keys: Keys, clock: FakeClock, secret: str
) -> None:
    people = await People.settle(store, clock)
    secrets = UserSecrets(store, keys)
    await secrets.show(people.ann.user_id)
    assert await secrets.find(secret) is None


async def test_the_database_holds_no_secret_in_the_clear_and_no_row_opens_in_anothers_place(
    store: Store, keys: Keys, clock: FakeClock
) -> None:
    people = await People.settle(store, clock)
    secrets, table = UserSecrets(store, keys), schema.user_secrets
    secret = await secrets.show(people.ann.user_id)
    await secrets.show(people.bob.user_id)
    query = select(table).where(table.c.user_id == people.ann.user_id)
    row = (await store.all(query))[0]._asdict()
    assert secret not in str(row)
    stolen = {"sealed_agent_secret": row["sealed_agent_secret"]}
    await store.run(update(table).where(table.c.user_id == people.bob.user_id).values(stolen))
    with pytest.raises(Unavailable):
        await secrets.show(people.bob.user_id)


async def test_who_is_not_there_has_no_secret(store: Store, keys: Keys, clock: FakeClock) -> None:
    with pytest.raises(NotFound):
        await UserSecrets(store, keys).show("nobody")
