"""A scripted model server, and a session's router that uses it."""

from collections.abc import AsyncIterator

import pytest

from tests.support.model_server import ModelServer
from tests.support.models import Session


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def session(server: ModelServer) -> AsyncIterator[Session]:
    async with Session(server) as made:
        yield made
