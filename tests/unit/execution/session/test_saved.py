"""Open turns on disk: what is running, what waits, what was here before."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_files import files_up_to
from trunkline.execution.errors import TurnError
from trunkline.execution.session.saved import TURNS_REMEMBERED_MAX, SavedTurns


def event(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def test_a_turn_is_open_from_its_message_to_its_end(tmp_path: Path) -> None:
    turns = SavedTurns(tmp_path)
    assert turns.begin("t-1")
    assert not turns.saw(event("text_chunk", turn_id="t-1"))
    assert [turn.turn_id for turn in SavedTurns(tmp_path).open] == ["t-1"]
    assert turns.saw(event("execution_complete", turn_id="t-1"))
    assert SavedTurns(tmp_path).open == []


@pytest.mark.parametrize("end", ["execution_complete", "execution_error"])
def test_an_end_without_a_name_ends_the_oldest(tmp_path: Path, end: str) -> None:
    turns = SavedTurns(tmp_path)
    turns.begin("t-1")
    turns.begin("t-2")
    assert turns.saw(event(end))
    assert [turn.turn_id for turn in turns.open] == ["t-2"]


def test_a_turn_waits_from_a_question_to_whatever_comes_next(tmp_path: Path) -> None:
    turns = SavedTurns(tmp_path)
    turns.begin("t-1")
    turns.begin("t-2")
    turns.saw(event("approval_request", turn_id="t-1"))
    turns.saw(event("session_status"))  # of the machine, not of the turn
    turns.saw(event("text_chunk", turn_id="t-2"))
    assert SavedTurns(tmp_path).waiting == "t-1"
    turns.saw(event("approval_resolved", turn_id="t-1"))
    assert SavedTurns(tmp_path).waiting is None


OF_OTHERS = [
    {"type": "tool_call_start", "tool_call_id": "c-2"},
    {"type": "tool_call_progress", "tool_call_id": "c-0"},  # in the background since long
    {"type": "tool_call_complete", "tool_call_id": "c-2"},
    {"type": "file_changed", "tool_call_id": "c-2"},
    {"type": "thinking"},
    {"type": "text_chunk", "parent_tool_call_id": "c-3"},
    {"type": "approval_resolved", "request_id": "another"},
]


@pytest.mark.parametrize("other", OF_OTHERS, ids=lambda one: one["type"])
def test_a_turn_goes_on_waiting_while_other_calls_run(tmp_path: Path, other: Any) -> None:
    turns = SavedTurns(tmp_path)
    turns.begin("t-1")
    turns.saw(event("approval_request", turn_id="t-1", request_id="q", tool_call_id="c-1"))
    turns.saw(json.dumps({"turn_id": "t-1", **other}))
    assert SavedTurns(tmp_path).waiting == "t-1"


OF_THE_AGENT = [
    {"type": "tool_call_start", "tool_call_id": "c-1"},
    {"type": "tool_call_complete", "tool_call_id": "c-1"},
    {"type": "text_chunk"},
]


@pytest.mark.parametrize("own", OF_THE_AGENT, ids=lambda one: one["type"])
def test_a_turn_whose_call_goes_on_waits_no_more(tmp_path: Path, own: Any) -> None:
    turns = SavedTurns(tmp_path)
    turns.begin("t-1")
    turns.saw(event("approval_request", turn_id="t-1", request_id="q", tool_call_id="c-1"))
    turns.saw(json.dumps({"turn_id": "t-1", **own}))
    assert SavedTurns(tmp_path).waiting is None


def test_a_turn_is_known_while_it_is_open_and_for_a_while_after(tmp_path: Path) -> None:
    turns = SavedTurns(tmp_path)
    for number in range(TURNS_REMEMBERED_MAX + 5):
        assert turns.begin(f"t-{number}")
        turns.end(f"t-{number}")
    again = SavedTurns(tmp_path)
    assert [again.has_ended(f"t-{number}") for number in (4, 5)] == [False, True]
    with pytest.raises(TurnError) as refused:
        again.begin("t-5")
    assert refused.value.code == "MACHINE_RESTARTED"


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "7", '{"type": 5}', '{"turn_id": []}'])
def test_an_event_that_is_none_changes_nothing(tmp_path: Path, text: str) -> None:
    turns = SavedTurns(tmp_path)
    turns.begin("t-1")
    assert not turns.saw(text)
    assert [turn.turn_id for turn in turns.open] == ["t-1"]


def test_an_end_of_a_turn_that_is_not_here_changes_nothing(tmp_path: Path) -> None:
    turns = SavedTurns(tmp_path)
    turns.begin("t-1")
    assert not turns.saw(event("execution_complete", turn_id="t-9"))
    assert len(turns.open) == 1


def test_nothing_is_written_for_an_event_that_changes_nothing(tmp_path: Path) -> None:
    turns = SavedTurns(tmp_path)
    turns.begin("t-1")
    (tmp_path / "turn.json").unlink()
    turns.saw(event("text_chunk", turn_id="t-1"))
    assert not (tmp_path / "turn.json").exists()


def test_a_disk_that_takes_nothing_stops_no_session(tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    turns = SavedTurns(tmp_path / "a file")  # no folder can be made there
    assert turns.begin("t-1")
    assert turns.saw(event("execution_complete", turn_id="t-1"))
    assert turns.has_ended("t-1")


def test_on_a_full_disk_no_turn_begins_and_an_end_is_written_down_later(tmp_path: Path) -> None:
    turns = SavedTurns(tmp_path)
    turns.begin("t-1")
    with files_up_to(0):
        with pytest.raises(TurnError) as refused:
            turns.begin("t-2")
        assert refused.value.code == "DISK_FULL"
        turns.saw(event("execution_complete", turn_id="t-1"))
    assert turns.open == []
    assert [turn.turn_id for turn in SavedTurns(tmp_path).open] == ["t-1"]
    turns.settle()
    assert SavedTurns(tmp_path).has_ended("t-1")
    assert turns.begin("t-2")


def test_the_file_is_private(tmp_path: Path) -> None:
    SavedTurns(tmp_path).begin("t-1")
    assert (tmp_path / "turn.json").stat().st_mode & 0o077 == 0
