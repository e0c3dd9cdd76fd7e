"""A scripted model server and a daemon that a test plays."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clock import Clock
from tests.support.model_server import ModelServer
from tests.unit.execution.orchestrator.daemon import Daemon


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
    async with Daemon(tmp_path / "home", model, Clock(time.time())) as played:
        yield played
