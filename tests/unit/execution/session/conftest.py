"""Real processes for tests of sessions: a fork server that runs the scripted session program."""

import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.recording_line import RecordingLine
from tests.unit.execution.conftest import ENV, TARGET
from trunkline.execution.home import Home
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process import Patience
from trunkline.execution.session.semigraph_adapter import SemiGraphAdapter

PATIENCE = Patience(ping_s=0.05, pings_max=40)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def spawner(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Spawner]:
    """One fork server for all tests of a module, which share its event loop for that."""
    made = Spawner(ENV, tmp_path_factory.mktemp("fork-server"), TARGET)
    await made.start()
    yield made
    await made.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.make()
    return made


@pytest.fixture
def line() -> RecordingLine:
    return RecordingLine()


MakeManager = Callable[..., SessionManager]


@pytest_asyncio.fixture(loop_scope="module")
async def make_manager(
    home: Home, line: RecordingLine, spawner: Spawner, sockets: SocketFolder
) -> AsyncIterator[MakeManager]:
    """Managers of the same home, one after the other: a daemon that is restarted."""
    made: list[SessionManager] = []

    semigraph = partial(SemiGraphAdapter, spawner.spawn, sockets, PATIENCE)

    def make(
        sessions_max: int = 20, clock: Callable[[], float] = time.time, **more: Any
    ) -> SessionManager:
        manager = SessionManager(
            line,
            home,
            {"semigraph": semigraph},
            sessions_max=sessions_max,
            clock=clock,
            **more,
        )
        made.append(manager)
        return manager

    yield make
    for manager in made:
        await manager.close()


@pytest.fixture
def manager(make_manager: MakeManager) -> SessionManager:
    return make_manager()
