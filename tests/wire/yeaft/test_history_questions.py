"""Questions in the rows of a deployed page: at their tool call, with what is known of them."""

import json
from typing import Any

import pytest

from tests.wire.yeaft.outward_lines import CONVERSATION, line, relayed
from trunkline.wire.yeaft.history import History

ASKED = {"request_id": "q1", "kind": "approve", "message": "Run?", "tool_name": "bash"}


def _history(*lines: str) -> History:
    history = History(CONVERSATION, 100_000, relays=True)
    for number, one in enumerate(lines, 1):
        history.add(number, one, 1_700_000_000_000 + number)
    return history


def _metadata(history: History) -> list[dict[str, Any]]:
    rows = [row for row in history.rows() if row["message_type"] == "tool_use"]
    return [json.loads(row["metadata"]) for row in rows]


@pytest.mark.proves("notes-3-question-restored")
def test_a_question_that_waits_is_a_row_that_can_be_asked_again() -> None:
    history = _history(
        line("user_message", content="go", turn_id="t1"),
        line("approval_request", turn_id="t1", options=["A", "B"], **{**ASKED, "kind": "select"}),
    )
    (found,) = _metadata(history)
    options = [{"label": "A", "description": ""}, {"label": "B", "description": ""}]
    question = {"question": "Run?", "header": "", "options": options, "multiSelect": False}
    assert found == {
        "askRequestId": "q1",
        "askQuestions": [question],
        "askAnswered": False,
        "selectedAnswers": None,
    }
    row = history.rows()[-1]
    assert (row["tool_name"], json.loads(row["tool_input"])) == (
        "AskUserQuestion",
        {"questions": [question]},
    )
    assert row["created_at"] == 1_700_000_000_002


@pytest.mark.parametrize(
    ("resolved", "selected"),
    [
        ({"confirmed": True, "answer": "B"}, {"Run?": "B"}),
        ({"confirmed": True}, {"Run?": "yes"}),
        ({"confirmed": False}, {"Run?": "no"}),
        ({"confirmed": True, "answer": {"Run?": "B"}}, {"Run?": "B"}),
    ],
)
@pytest.mark.proves("notes-3-question-restored")
def test_an_answered_question_says_what_was_chosen(
    resolved: dict[str, Any], selected: dict[str, Any]
) -> None:
    history = _history(
        line("approval_request", options=["A", "B"], **{**ASKED, "kind": "select"}),
        line("approval_resolved", request_id="q1", **resolved),
    )
    (found,) = _metadata(history)
    assert found["askAnswered"] is True
    assert found["selectedAnswers"] == selected


def test_clients_of_the_document_see_no_call_that_nobody_made() -> None:
    history = _history(line("approval_request", **ASKED))
    assert history.messages() == []
    assert len(history.rows()) == 1


def test_an_agents_own_call_is_not_doubled_and_each_question_stands_at_its_own() -> None:
    questions = [{"question": "Which?", "options": [{"label": "A"}]}]

    def call(name: str) -> str:
        block = {"type": "tool_use", "id": name, "name": "AskUserQuestion", "input": {}}
        data = {"type": "assistant", "message": {"content": [block]}}
        return relayed("tool_call_start", json.dumps({"type": "claude_output", "data": data}))

    def asked(name: str) -> str:
        own = {"type": "ask_user_question", "requestId": name, "questions": questions}
        return relayed("approval_request", json.dumps(own), request_id=name)

    history = _history(call("one"), asked("q1"), call("two"), asked("q2"), asked("q2"))
    assert [one["askRequestId"] for one in _metadata(history)] == ["q1", "q2"]
    assert [one["askQuestions"] for one in _metadata(history)] == [questions, questions]


@pytest.mark.parametrize(
    "odd",
    [
        line("approval_request"),
        line("approval_request", request_id=7, message=["x"], options={"a": 1}),
        line("approval_resolved", request_id="unknown", confirmed="yes"),
        '{"type":"text_chunk","content":"\\"approval_request\\""}',
        '{"type":"approval_request","request_id":"q","raw":{"protocol":"yeaft","message":[]}}',
        '"approval_request"',
        '{"type":"approval_request","request_id":"q","message":"\\ud800"}',
    ],
)
def test_odd_questions_leave_the_history_readable(odd: str) -> None:
    history = _history(odd, line("user_message", content="still here"))
    assert history.rows()[-1]["content"] == "still here"


@pytest.mark.proves("notes-3-row-times")
def test_an_event_that_does_not_say_when_has_the_time_of_its_commit() -> None:
    history = _history(
        line("user_message", content="q", ts=7),
        line("text_chunk", content="a"),
    )
    assert [row["created_at"] for row in history.rows()] == [7, 1_700_000_000_002]
