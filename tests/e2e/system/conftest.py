"""What one user has and no other may see."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.control import Control
from tests.support.matrix.treasure import Treasure, hoard


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def treasure(control: Control) -> AsyncIterator[Treasure]:
    async with hoard(control) as made:
        yield made
