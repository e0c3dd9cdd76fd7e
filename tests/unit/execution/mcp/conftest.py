"""A home of its own for every test."""

from pathlib import Path

import pytest

from trunkline.execution.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home
