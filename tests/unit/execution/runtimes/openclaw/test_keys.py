"""Keys on their way to the gateway: in memory, for a moment, and gone whatever happens."""

import json
import stat
from pathlib import Path

import pytest

from trunkline.execution.errors import RequestFailed
from trunkline.execution.runtimes.openclaw.keys import KeysFile, remove_left

HOME = Path("/a/home")


def test_the_file_is_there_only_while_it_is_shown(tmp_path: Path) -> None:
    keys = KeysFile(HOME, tmp_path)
    with keys.shown({"openai": "sk-one"}, {"openai", "own"}):
        assert json.loads(keys.path.read_text()) == {"openai": "sk-one", "own": "none"}
        assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(keys.path.parent.stat().st_mode) == 0o700
    assert not keys.path.exists()
    keys.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_fault_meanwhile_leaves_nothing(tmp_path: Path) -> None:
    keys = KeysFile(HOME, tmp_path)
    with pytest.raises(RuntimeError), keys.shown({"openai": "sk-one"}, set()):
        raise RuntimeError
    assert not keys.path.exists()


def test_what_a_killed_daemon_left_is_removed_and_nothing_of_another_home(tmp_path: Path) -> None:
    left, other = KeysFile(HOME, tmp_path), KeysFile(Path("/another"), tmp_path)
    for one in (left, other):
        one.path.write_text("{}")
    remove_left(HOME, tmp_path)
    assert not left.path.parent.exists()
    assert other.path.exists()


def test_a_machine_without_a_file_system_in_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestFailed) as refused:
        KeysFile(HOME, tmp_path / "nowhere")
    assert refused.value.code == "RUNTIME_UNAVAILABLE"
