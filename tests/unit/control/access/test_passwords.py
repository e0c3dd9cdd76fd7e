"""Passwords: kept as slow hashes, checked by name, equal for nobody."""

import pytest
from sqlalchemy import select, update

from tests.support.clock import FakeClock
from tests.unit.control.people import People
from trunkline.control.access.passwords import Passwords
from trunkline.control.errors import InvalidRequest
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


async def test_the_right_password_finds_its_user_by_name_or_id(
    store: Store, clock: FakeClock
) -> None:
    people, passwords = await People.settle(store, clock), Passwords(store)
    ann = people.ann.user_id
    assert not await passwords.is_set(ann)
    await passwords.set(ann, "correct horse")
    assert await passwords.is_set(ann)
    assert await passwords.check("ann", "correct horse") == ann
    assert await passwords.check(ann, "correct horse") == ann
    await passwords.set(ann, "another horse")
    assert await passwords.check("ann", "correct horse") is None
    assert await passwords.check("ann", "another horse") == ann


async def test_between_people_of_one_name_the_password_decides(
    sqlite_store: Store, clock: FakeClock
) -> None:
    people, passwords = await People.settle(sqlite_store, clock), Passwords(sqlite_store)
    users = schema.users
    namesake = update(users).where(users.c.id == people.zoe.user_id).values(name="ann")
    await sqlite_store.run(namesake)
    await passwords.set(people.ann.user_id, "password of ann")
    await passwords.set(people.zoe.user_id, "password of zoe")
    assert await passwords.check("ann", "password of zoe") == people.zoe.user_id
    assert await passwords.check("ann", "password of ann") == people.ann.user_id


async def test_nothing_else_finds_anybody(sqlite_store: Store, clock: FakeClock) -> None:
    people, passwords = await People.settle(sqlite_store, clock), Passwords(sqlite_store)
    await passwords.set(people.ann.user_id, "correct horse")
    names = ["bob", "nobody", "", "' OR 1=1 --", "ann\x00"]
    tried = [(name, "correct horse") for name in names]
    tried += [("ann", password) for password in ("", "wrong", "x" * 1000, "\ud800")]
    tried += [("nobody", "\ud800"), ("", "")]
    found = [one for one in tried if await passwords.check(*one) is not None]
    assert found == []


async def test_a_hash_that_is_damaged_fits_no_password(
    sqlite_store: Store, clock: FakeClock
) -> None:
    people, passwords = await People.settle(sqlite_store, clock), Passwords(sqlite_store)
    table = schema.user_secrets
    await passwords.set(people.ann.user_id, "correct horse")
    for damaged in ("", "scrypt$", "scrypt$$", "scrypt$=$=", "plain"):
        await sqlite_store.run(update(table).values(password_hash=damaged))
        assert await passwords.check("ann", "correct horse") is None
        assert await passwords.check("ann", "") is None


async def test_the_same_password_is_kept_differently_for_each_and_never_in_the_clear(
    sqlite_store: Store, clock: FakeClock
) -> None:
    people, passwords = await People.settle(sqlite_store, clock), Passwords(sqlite_store)
    for who in (people.ann, people.bob):
        await passwords.set(who.user_id, "correct horse")
    kept = await sqlite_store.scalars(select(schema.user_secrets.c.password_hash))
    assert len(set(kept)) == 2
    assert "correct" not in str(kept)


@pytest.mark.parametrize("password", ["", "short", "x" * 1001])
async def test_a_password_has_bounds(sqlite_store: Store, clock: FakeClock, password: str) -> None:
    people = await People.settle(sqlite_store, clock)
    with pytest.raises(InvalidRequest):
        await Passwords(sqlite_store).set(people.ann.user_id, password)
