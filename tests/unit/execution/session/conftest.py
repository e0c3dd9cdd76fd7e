"""Real processes for tests of sessions: a fork server that runs the scripted session program."""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import session_program
from tests.support.recording_line import RecordingLine
from trunkline.execution.home import Home
from trunkline.execution.session import ipc
from trunkline.execution.session.failure import Failure
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process import Patience
from trunkline.execution.session.runtime_adapter import RuntimeAdapter
from trunkline.execution.session.semigraph_adapter import SemiGraphAdapter
from trunkline.execution.session.sockets import SocketFolder
from trunkline.execution.session.spawner import Spawner

ROOT = Path(__file__).parents[4]
TARGET = f"{session_program.__name__}:main"
PATIENCE = Patience(ping_s=0.05, pings_max=40)


@pytest.fixture
def env() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


@pytest.fixture
async def spawner(tmp_path: Path, env: dict[str, str]) -> AsyncIterator[Spawner]:
    made = Spawner(env, tmp_path, TARGET)
    await made.start()
    yield made
    await made.close()


@pytest.fixture
def sockets(tmp_path: Path) -> Iterator[SocketFolder]:
    folder = tmp_path / "run"
    folder.mkdir()
    made = SocketFolder(folder)
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.make()
    return made


@pytest.fixture
def line() -> RecordingLine:
    return RecordingLine()


MakeManager = Callable[..., SessionManager]


@pytest.fixture
async def make_manager(
    home: Home, line: RecordingLine, spawner: Spawner, sockets: SocketFolder
) -> AsyncIterator[MakeManager]:
    """Managers of the same home, one after the other: a daemon that is restarted."""
    made: list[SessionManager] = []

    def semigraph(
        folder: Path, on_message: Callable[[ipc.Up], None], on_ended: Callable[[Failure], None]
    ) -> RuntimeAdapter:
        return SemiGraphAdapter(
            spawner.spawn, sockets, folder, PATIENCE, on_message=on_message, on_ended=on_ended
        )

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
