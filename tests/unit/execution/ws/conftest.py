"""A scripted control plane, and naps in the test's hands."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.execution.ws.machine import Naps
from tests.unit.execution.ws.scripted_control import ScriptedControl, scripted_control


@pytest.fixture
async def server() -> AsyncIterator[ScriptedControl]:
    async with scripted_control() as started:
        yield started


@pytest.fixture
def naps() -> Naps:
    return Naps()
