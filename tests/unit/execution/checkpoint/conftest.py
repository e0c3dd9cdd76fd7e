"""Savers to test: ours, and LangGraph's own as the reference of what is right."""

from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.unit.execution.checkpoint.savers import SESSION, Saver
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer


@pytest.fixture
def session_dir(tmp_path: Path) -> Path:
    return tmp_path / SESSION


@pytest.fixture
def local(session_dir: Path) -> LocalCheckpointer:
    return LocalCheckpointer(session_dir)


@pytest.fixture(params=["local", "reference"])
def saver(request: pytest.FixtureRequest, session_dir: Path) -> Saver:
    """Each test that takes this proves that both do the same."""
    return LocalCheckpointer(session_dir) if request.param == "local" else InMemorySaver()
