"""Tokens of people: what was remembered of one never outlives its revocation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tests.support.clock import FakeClock
from tests.unit.control.people import People
from trunkline.control.access.auth import Auth
from trunkline.control.access.keys import Keys
from trunkline.control.errors import Unauthorized
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


class SlowStore(Store):
    """Readers have read, but get no further until they may."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine)
        self.was_read, self.may_go_on = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        async with super().read() as connection:
            yield connection
        self.was_read.set()
        await self.may_go_on.wait()


async def test_a_token_revoked_while_it_is_looked_up_is_not_remembered(
    sqlite_store: Store, keys: Keys, clock: FakeClock
) -> None:
    people = await People.settle(sqlite_store, clock)
    slow = SlowStore(sqlite_store.engine)
    auth = Auth(slow, keys, None, clock)
    secret, token_id = await auth.issue(people.ann.user_id)
    looking = asyncio.create_task(auth.identify(secret))
    await slow.was_read.wait()
    await auth.revoke(token_id)
    slow.may_go_on.set()
    with pytest.raises(Unauthorized):
        await looking
    with pytest.raises(Unauthorized):
        await auth.identify(secret)


async def test_of_two_looked_up_together_only_the_revoked_one_is_refused(
    sqlite_store: Store, keys: Keys, clock: FakeClock
) -> None:
    people = await People.settle(sqlite_store, clock)
    slow = SlowStore(sqlite_store.engine)
    auth = Auth(slow, keys, None, clock)
    (kept, _), (lost, lost_id) = [await auth.issue(people.ann.user_id) for _ in range(2)]
    looking = [asyncio.create_task(auth.identify(secret)) for secret in (kept, lost)]
    await slow.was_read.wait()
    await auth.revoke(lost_id)
    slow.may_go_on.set()
    found = await asyncio.gather(*looking, return_exceptions=True)
    assert getattr(found[0], "user_id", None) == people.ann.user_id
    assert isinstance(found[1], Unauthorized)


async def test_a_token_revoked_between_a_look_and_its_use_is_looked_up_again(
    sqlite_store: Store, keys: Keys, clock: FakeClock
) -> None:
    people = await People.settle(sqlite_store, clock)
    slow = SlowStore(sqlite_store.engine)
    auth = Auth(slow, keys, None, clock)
    first, _ = await auth.issue(people.ann.user_id)
    second, second_id = await auth.issue(people.ann.user_id)

    async def first_in() -> None:
        await auth.identify(first)
        auth.forget([second_id])  # before the second, which was found with it, has its turn

    looking = [asyncio.create_task(work) for work in (first_in(), auth.identify(second))]
    await slow.was_read.wait()
    await slow.run(delete(schema.tokens).where(schema.tokens.c.id == second_id))
    slow.may_go_on.set()
    await looking[0]
    with pytest.raises(Unauthorized):
        await looking[1]
