"""A person's events in the group's log."""

import json
from typing import Any

import pytest

from trunkline import limits
from trunkline.control.groups.copying import copied, ended, line_of, object_of, unique

SESSION = "01a1dd16-7fed-7860-a4ee-8e35ee94311f"


def copy_of(**event: Any) -> dict[str, Any] | None:
    return copied(event, SESSION, 17, 2)


def test_an_event_keeps_what_it_says_and_gets_where_it_comes_from() -> None:
    assert copy_of(type="text_chunk", content="hi", ts=5, agent="helper") == {
        "type": "text_chunk",
        "content": "hi",
        "ts": 5,
        "agent": "helper",
        "group": {"ask": 2, "session_id": SESSION, "event_id": 17},
    }


def test_ids_of_tool_calls_and_questions_become_the_persons_own() -> None:
    call = copy_of(type="tool_call_start", tool_call_id="call_1")
    asked = copy_of(type="approval_request", approval_id="q1", message="may I?")
    assert call is not None
    assert asked is not None
    assert call["tool_call_id"] == "8e35ee94311f.call_1"
    assert asked["request_id"] == "8e35ee94311f.q1"
    assert asked["group"]["request_id"] == "q1"
    assert "approval_id" not in asked


def test_a_long_id_fits_the_record_and_stays_its_own() -> None:
    one, other = unique(SESSION, "x" * 200), unique(SESSION, "x" * 199 + "y")
    assert len(one) <= limits.NAME_CHARS_MAX
    assert one != other


@pytest.mark.parametrize(
    "kind",
    [
        "user_message",
        "session_status",
        "foreign",
        "person_start",
        "person_complete",
        "person_error",
    ],
)
def test_what_is_the_groups_own_to_say_is_left_out(kind: str) -> None:
    assert copy_of(type=kind, content="I am the group", group={"ask": 1}) is None


def test_fields_of_the_group_are_never_taken_from_a_machine() -> None:
    forged = copy_of(
        type="thinking", person={"id": "p"}, group={"cancelling": True}, raw={"protocol": "yeaft"}
    )
    assert forged is not None
    assert forged["group"] == {"ask": 2, "session_id": SESSION, "event_id": 17}
    assert "person" not in forged
    assert "raw" not in forged


def test_a_message_that_waits_for_a_machine_is_said() -> None:
    note = copy_of(type="session_status", machine="offline", held=True)
    assert note is not None
    assert (note["type"], note["stage"]) == ("thinking", "group")


def test_a_question_without_an_id_cannot_be_answered_and_is_left_out() -> None:
    for odd in (None, "", 7, ["q"]):
        assert copy_of(type="approval_request", request_id=odd) is None


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        ({"type": "execution_complete", "content": "hi"}, {"content": "hi"}),
        ({"type": "execution_complete", "final_response": "hi"}, {"content": "hi"}),
        ({"type": "execution_complete"}, {"content": ""}),
        ({"type": "execution_complete", "content": {"a": 1}}, {"content": '{"a":1}'}),
        (
            {"type": "execution_complete", "content": "x", "cancelled": True},
            {"content": "x", "cancelled": True},
        ),
        (
            {"type": "execution_error", "error": "no", "code": "MODEL_ERROR"},
            {"error": "no", "code": "MODEL_ERROR"},
        ),
        ({"type": "execution_error"}, {"error": "the turn failed", "code": "TURN_FAILED"}),
    ],
)
def test_an_end_is_a_persons_end(event: dict[str, Any], wanted: dict[str, Any]) -> None:
    kind = "person_error" if "error" in wanted else "person_complete"
    source = {"ask": 2, "session_id": SESSION, "event_id": 17}
    assert ended(event, SESSION, 17, 2) == {"type": kind, **wanted, "group": source}


@pytest.mark.parametrize("line", ["", "x", "[1]", "7", '{"a": 1}', '{"type": 7}', "[" * 100_000])
def test_a_line_that_is_no_event_is_none(line: str) -> None:
    assert object_of(line) is None


def test_half_a_character_and_a_huge_number_travel_on() -> None:
    line = '{"type": "text_chunk", "content": "\\ud83d", "n": 1' + "0" * 400 + "}"
    event = object_of(line)
    assert event is not None
    assert json.loads(line_of(event)) == json.loads(line)


def test_an_end_with_something_bottomless_in_it_is_still_an_end() -> None:
    line = '{"type": "execution_complete", "content": "done", "x": ' + "[" * 500 + "]" * 500 + "}"
    event = object_of(line)
    assert event is not None
    assert event["content"] == "done"
