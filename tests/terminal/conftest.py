"""A control plane for each module, and a desk: a user, a scripted machine, a place for history."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.control import Control, running
from tests.terminal.desk import Desk
from trunkline.client import Client


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They start whole programs."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.slow)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Control]:
    folder = tmp_path_factory.mktemp("control") / "data"
    async with running(folder, rate_limit_per_minute=0) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def desk(control: Control, tmp_path: Path) -> AsyncIterator[Desk]:
    user = await control.user()
    async with await user.vm("seq", "steer") as vm, Client(control.url, user.token) as client:
        yield Desk(user, vm, client, tmp_path)
