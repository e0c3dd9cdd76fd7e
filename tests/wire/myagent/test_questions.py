"""Questions to a person, the steps that name them, and what counts as an answer."""

import re
from typing import Any

import pytest

from tests.wire.myagent.talk import END, SAID, SESSION, Json, names, outward, shown
from trunkline.wire.answers import Answer, answer_of, kind_of
from trunkline.wire.myagent.identifiers import call_step, confirm_id, confirm_id_of, confirm_step

UUID = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
ASK: Json = {"type": "approval_request", "request_id": "r 1", "tool_name": "bash", "message": "?"}


@pytest.mark.proves("notes-2-confirm-metadata")
def test_a_question_shows_what_is_to_be_done() -> None:
    asked = {**ASK, "tool_input": {"c": 1}, "timeout_seconds": 60, "tool_call_id": "c1"}
    message = shown(SAID, asked)[0]
    assert message["event"] == "agent.user_confirm"
    assert message["content"] == {"message": "?", "confirmation_type": "approve"}
    assert message["metadata"] == {
        "scope": "tool",
        "plan_summary": '?\nbash {"c":1}',
        "tool_name": "bash",
        "tool_description": "?",
        "tool_args": {"c": 1},
        "requires_confirmation": True,
        "timeout_seconds": 60,
        "critical": True,
        "call_id": "c1",
    }


@pytest.mark.proves("notes-2-confirm-dialog")
def test_a_dialog_shows_the_whole_call_that_it_confirms() -> None:
    command = "rm -r " + "x" * 100_000 + " end"
    asked = {**ASK, "message": "Run it?", "tool_input": {"command": command}}
    summary = shown(SAID, asked)[0]["metadata"]["plan_summary"]
    assert summary.startswith('Run it?\nbash {"command":"rm -r x')
    assert summary.endswith(' end"}')


def test_a_dialog_that_cannot_show_everything_says_how_much_is_missing() -> None:
    asked = {**ASK, "tool_input": {"command": "x" * 1_000_000}}
    summary = shown(SAID, asked)[0]["metadata"]["plan_summary"]
    assert len(summary) < 300_000
    assert re.search(r"and 7\d{5} characters that are not shown here$", summary)


@pytest.mark.parametrize(
    ("question", "dialog"),
    [
        ({"tool_name": None}, {"scope": "question", "plan_summary": "?"}),
        (
            {"tool_name": None, "plan": {"tasks": [{"title": "a"}]}},
            {"scope": "plan", "plan_summary": "?", "tasks": [{"title": "a"}]},
        ),
        ({"message": None}, {"scope": "tool", "plan_summary": "bash"}),
        ({"title": "List files"}, {"scope": "tool", "plan_summary": "?\nbash List files"}),
    ],
    ids=["no tool", "a plan", "no message", "a title"],
)
def test_a_dialog_says_what_it_is_about(question: Json, dialog: Json) -> None:
    metadata = shown(SAID, {**ASK, **question})[0]["metadata"]
    assert {name: metadata.get(name) for name in dialog} == dialog
    assert ("tasks" in metadata) is ("tasks" in dialog), "tasks can be edited, and edits go nowhere"


def test_a_question_without_a_time_has_the_usual_one() -> None:
    message = shown(SAID, ASK, state=outward(confirm_timeout_s=300.0))[0]
    assert message["metadata"]["timeout_seconds"] == 300


def test_a_choice_has_its_options() -> None:
    message = shown(SAID, {**ASK, "kind": "select", "options": ["a", "b"], "tool_name": None})[0]
    assert message["content"]["options"] == ["a", "b"]
    assert message["content"]["confirmation_type"] == "select"
    assert message["step_id"].endswith("_select")


def test_a_settled_question_is_told_under_its_step_while_the_turn_runs() -> None:
    settled = {"type": "approval_resolved", "request_id": "r 1", "confirmed": True}
    asked, told = shown(SAID, ASK, settled)
    assert told["event"] == "agent.thinking"
    assert told["step_id"] == asked["step_id"]
    assert told["metadata"]["confirmation"] == "confirmed"
    assert names(shown(SAID, ASK, END, settled)) == ["agent.user_confirm", "agent.final_answer"]
    assert shown(SAID, settled) == [], "of a question that was not shown"


def test_steps_have_the_documented_forms() -> None:
    assert call_step(12, "bash") == "step_12_bash"
    own = UUID
    assert confirm_step(SESSION, own, "bash") == f"confirm_{own}_bash"
    assert confirm_id_of(confirm_step(SESSION, own, "bash")) == own
    made = confirm_step(SESSION, "r 1", "a_b")
    assert confirm_id_of(made) == confirm_id(SESSION, "r 1")
    assert made == confirm_step(SESSION, "r 1", "a_b"), "the same on every connection"


def test_questions_of_two_sessions_have_two_ids() -> None:
    assert confirm_id(SESSION, "r 1") != confirm_id("another", "r 1") != confirm_id(SESSION, "r 2")


@pytest.mark.parametrize(
    "step_id", ["", "confirm_", "confirm_x_y", "step_1_bash", f"x{UUID}", f"confirm_{UUID}x"]
)
def test_what_is_no_question_has_no_id(step_id: str) -> None:
    assert confirm_id_of(step_id) is None


@pytest.mark.parametrize(
    ("content", "confirmed"),
    [
        (True, True),
        (False, False),
        ("yes", True),
        ("Y", True),
        (" OK! ", True),
        ("no", False),
        ("Cancel", False),
        ("是", True),
        ("好的。", True),
        ("确认", True),
        ("不", False),
        ("不同意", False),
        ("取消", False),
        ({"confirmed": True}, True),
        ({"approved": False}, False),
        ({"confirmed": "yes"}, True),
        ({"confirmed": False, "answer": "too risky"}, False),
        ({"text": "no"}, False),
        ({"answer": True}, True),
    ],
)
def test_yes_and_no_are_understood(content: Any, confirmed: bool) -> None:
    answer = answer_of(content, "approve")
    assert answer is not None
    assert answer.confirmed is confirmed


@pytest.mark.parametrize(
    "content", [None, "", "perhaps", 7, [], ["yes"], {}, {"confirmed": None}, {"confirmed": 1}]
)
def test_what_is_neither_is_no_answer(content: Any) -> None:
    assert answer_of(content, "approve") is None


@pytest.mark.parametrize(
    ("kind", "options", "meant"),
    [
        (None, None, "approve"),
        (None, [], "approve"),
        (None, ["a"], "select"),
        ("", ["a"], "select"),
        (None, "a", "approve"),
        (None, {"a": 1}, "approve"),
        ("approve", ["a"], "approve"),
        ("input", ["a"], "input"),
        ("select", None, "select"),
        (["select"], None, "approve"),
        ({}, ["a"], "select"),
    ],
)
def test_a_question_that_does_not_say_its_kind_is_read_by_its_options(
    kind: Any, options: Any, meant: str
) -> None:
    assert kind_of(kind, options) == meant


@pytest.mark.parametrize("kind", ["input", "select"])
@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("no", Answer(True, "no")),
        ({"answer": "b"}, Answer(True, "b")),
        ({"text": "b"}, Answer(True, "b")),
        ({"selected": ["a", "b"]}, Answer(True, ["a", "b"])),
        (["a"], Answer(True, ["a"])),
        (2, Answer(True, 2)),
        ({"confirmed": False}, Answer(False)),
        (False, Answer(False)),
        (None, None),
        ({}, None),
    ],
)
def test_other_questions_take_any_answer(kind: str, content: Any, answer: Answer | None) -> None:
    assert answer_of(content, kind) == answer


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("Allow once", Answer(True, "Allow once")),
        ({"answer": "No, never"}, Answer(False, "No, never")),
        ({"confirmed": True, "answer": "Allow once"}, Answer(True, "Allow once")),
        ("yes", Answer(True)),
        ("Something else", None),
    ],
)
def test_an_option_of_a_request_for_permission_is_an_answer(
    content: Any, answer: Answer | None
) -> None:
    assert answer_of(content, "approve", ["Allow once", "No, never"]) == answer


@pytest.mark.parametrize(("by", "told"), [(None, "Nobody answered in time."), ("u-1", "Declined.")])
def test_a_persons_own_reason_is_not_taken_for_the_machines(by: str | None, told: str) -> None:
    settled = {"type": "approval_resolved", "request_id": "r 1", "confirmed": False}
    message = shown(SAID, ASK, {**settled, "reason": "timeout", "answered_by": by})[-1]
    assert message["metadata"]["reason"] == "timeout"
    assert told in str(message["content"])
