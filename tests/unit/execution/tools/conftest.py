"""A home of its own for every test."""

from pathlib import Path

import pytest

from tests.unit.execution.tools.support import Call
from trunkline.execution.home import Home
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.tools.text_files import Paths


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


@pytest.fixture
def call(home: Home) -> Call:
    return Call(home)


@pytest.fixture
def paths(home: Home) -> Paths:
    return Paths(home.workspace, home.skills)


@pytest.fixture
def env() -> dict[str, str]:
    return scrubbed({"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"})
