"""A MyAgent client of a user whose machine is there."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.control import TestUser
from tests.support.myagent import MyAgentClient, client_of
from tests.support.vm import ScriptedVm


@pytest_asyncio.fixture(loop_scope="module")
async def client(user: TestUser, vm: ScriptedVm) -> AsyncIterator[MyAgentClient]:
    async with client_of(user) as live:
        yield live
