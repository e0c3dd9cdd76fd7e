"""A real fork server that runs the scripted session program, and a folder of sockets."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support import session_program
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder

ROOT = Path(__file__).parents[3]
TARGET = f"{session_program.__name__}:main"


ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


@pytest.fixture
def env() -> dict[str, str]:
    return ENV


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
