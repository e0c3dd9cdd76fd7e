"""A scripted model server and a daemon that a test plays."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tests.unit.execution.orchestrator.daemon import Clock, Daemon


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def daemon(model: ModelServer, tmp_path: Path) -> AsyncIterator[Daemon]:
    async with Daemon(tmp_path / "home", model) as played:
        yield played


@pytest.fixture
async def timed(model: ModelServer, tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon whose session lives by the test's clock."""
    async with Daemon(tmp_path / "home", model, Clock()) as played:
        yield played
