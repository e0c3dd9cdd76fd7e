"""What a hosted runtime remembers goes on with the next process, here or on another machine."""

from pathlib import Path

import pytest

from trunkline.execution.runtimes.hosted.state import SavedState, restore_snapshot, take_snapshot


def test_the_next_process_finds_what_the_last_one_saved(tmp_path: Path) -> None:
    SavedState(tmp_path, "claude-code").put({"session_id": "abc"})
    assert SavedState(tmp_path, "claude-code").get() == {"session_id": "abc"}


def test_the_state_of_another_runtime_is_none(tmp_path: Path) -> None:
    SavedState(tmp_path, "claude-code").put({"session_id": "abc"})
    assert SavedState(tmp_path, "acp").get() == {}


def test_a_snapshot_is_restored_on_another_machine(tmp_path: Path) -> None:
    here, there = tmp_path / "here" / "s1", tmp_path / "there" / "s1"
    here.mkdir(parents=True)
    SavedState(here, "acp").put({"session_id": "abc"})
    snapshot = take_snapshot(here)
    assert (snapshot["runtime_type"], snapshot["session_id"]) == ("acp", "s1")
    restore_snapshot(there, snapshot)
    assert SavedState(there, "acp").get() == {"session_id": "abc"}


def test_a_session_that_remembers_nothing_has_no_snapshot(tmp_path: Path) -> None:
    assert take_snapshot(tmp_path) == {}


@pytest.mark.parametrize("torn", [b"", b"{", b'{"state": 7}', b"\xff\xfe"])
def test_a_torn_file_is_like_none(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "runtime.json").write_bytes(torn)
    state = SavedState(tmp_path, "acp")
    assert state.get() == {}
    state.put({"session_id": "new"})
    assert SavedState(tmp_path, "acp").get() == {"session_id": "new"}


@pytest.mark.parametrize(
    "snapshot", [{}, {"runtime_type": "acp"}, {"runtime_type": 1, "runtime_state": {}}]
)
def test_a_snapshot_that_is_none_restores_nothing(
    tmp_path: Path, snapshot: dict[str, object]
) -> None:
    restore_snapshot(tmp_path, snapshot)
    assert list(tmp_path.iterdir()) == []
