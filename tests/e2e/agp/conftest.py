"""An AGP device that is connected."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.agp import ScriptedDevice, new_device
from tests.support.control import TestUser


@pytest_asyncio.fixture(loop_scope="module")
async def device(user: TestUser) -> AsyncIterator[ScriptedDevice]:
    async with await new_device(user) as live:
        yield live
