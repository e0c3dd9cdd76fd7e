"""Tokens of people: what was remembered of one never outlives its revocation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from tests.support.clock import FakeClock
from tests.unit.control.people import People
from trunkline.control.access.auth import Auth
from trunkline.control.access.keys import Keys
from trunkline.control.errors import Unauthorized
from trunkline.control.store.engine import Store


async def test_a_token_revoked_while_it_is_looked_up_is_not_remembered(
    sqlite_store: Store, keys: Keys, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = await People.settle(sqlite_store, clock)
    auth = Auth(sqlite_store, keys, None, clock)
    secret, token_id = await auth.issue(people.ann.user_id)
    read, was_read, go_on = sqlite_store.read, asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def slow() -> AsyncIterator[AsyncConnection]:
        async with read() as connection:
            yield connection
        was_read.set()
        await go_on.wait()

    monkeypatch.setattr(sqlite_store, "read", slow)
    looking = asyncio.create_task(auth.identify(secret))
    await was_read.wait()
    await auth.revoke(token_id)
    go_on.set()
    with pytest.raises(Unauthorized):
        await looking
    with pytest.raises(Unauthorized):
        await auth.identify(secret)
