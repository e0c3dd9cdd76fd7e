"""A tool that answers when a test lets it."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.control import TestUser
from tests.support.gate import Gate, gated_tools


@pytest_asyncio.fixture(loop_scope="module")
async def gate(user: TestUser) -> AsyncIterator[Gate]:
    async with gated_tools(user) as made:
        yield made
