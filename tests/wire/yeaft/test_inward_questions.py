"""Questions of an agent (docs/protocols/yeaft.md#questions): one prompt, or a list of questions."""

import json
from typing import Any

import pytest

from tests.wire.yeaft import outward_lines as outward
from tests.wire.yeaft.inward_talk import ID, TURN, conversation, heard, message
from trunkline.wire.yeaft.codec import encode
from trunkline.wire.yeaft.questions import answer_message


def asked(**fields: Any) -> dict[str, Any]:
    (event,) = heard(conversation(), message("ask_user_question", requestId="q-1", **fields))
    assert (event["type"], event["request_id"]) == ("approval_request", "q-1")
    assert (event["turn_id"], event["timeout_seconds"]) == (TURN, 300.0)
    return event


def test_a_prompt_is_a_question_in_words() -> None:
    event = asked(prompt="What now?")
    assert (event["kind"], event["message"]) == ("input", "What now?")
    assert "options" not in event


def test_choices_make_it_a_selection() -> None:
    event = asked(prompt="Which?", choices=["A", "B"], multiSelect=True)
    assert (event["kind"], event["options"], event["multi_select"]) == ("select", ["A", "B"], True)


def test_one_question_of_a_list_is_that_question() -> None:
    options = [{"label": "red", "description": "warm"}, {"label": "blue"}]
    question = {"question": "Colour?", "options": options, "multiSelect": False}
    event = asked(questions=[question])
    assert (event["kind"], event["message"]) == ("select", "Colour?")
    assert (event["options"], event["questions"]) == (["red", "blue"], ["Colour?"])


def test_several_questions_are_shown_as_one_text() -> None:
    event = asked(
        questions=[
            {"question": "Colour?", "options": [{"label": "red"}, {"label": "blue"}]},
            {"question": "Size?"},
        ]
    )
    assert (event["kind"], event["message"]) == ("input", "1. Colour? (red / blue)\n2. Size?")
    assert event["questions"] == ["Colour?", "Size?"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prompt": None, "questions": None},
        {"prompt": {"a": 1}, "choices": "A"},
        {"prompt": "x", "choices": [None, 5, {"label": {}}, {"value": "v"}, []]},
        {"questions": []},
        {"questions": ["text", 5, None]},
        {"questions": [{}, {"question": None, "options": {"a": 1}}]},
        {"questions": {"a": 1}},
        {"prompt": "x", "multiSelect": "yes"},
        {"questions": [{"question": "q"}] * 1000},
        {"prompt": "x", "choices": ["c"] * 1000},
    ],
)
def test_an_odd_question_is_still_one_that_a_person_can_answer(fields: dict[str, Any]) -> None:
    event = asked(**fields)
    assert isinstance(event["message"], str)
    assert all(isinstance(one, str) for one in event.get("options", []))
    assert len(event.get("options", [])) <= 50


APPROVAL = {"request_id": "q-1", "kind": "approve", "message": "May I use bash?"}
TOOL = {"tool_name": "bash", "tool_input": {"command": "rm -r a", "n": 1.5, "é": [None]}}


@pytest.mark.parametrize("is_deployed", [False, True])
@pytest.mark.parametrize("tool", [TOOL, {"tool_name": "bash", "tool_input": {"x": "y" * 9_000}}])
def test_what_our_own_machines_ask_is_the_same_question_here(
    is_deployed: bool, tool: dict[str, Any]
) -> None:
    told = outward.messages(
        outward.line("approval_request", **APPROVAL, **tool), deployed=is_deployed
    )
    (event,) = heard(conversation(), {**told[-1], "conversationId": ID})
    assert event == {
        "type": "approval_request",
        **APPROVAL,
        **tool,
        "timeout_seconds": 300.0,
        "turn_id": TURN,
    }


@pytest.mark.parametrize("choices", [None, [], ["yes", "no"]])
def test_a_question_for_approval_names_its_tool(choices: Any) -> None:
    event = asked(
        prompt="Run it?", choices=choices, kind="approve", toolName="bash", toolInput={"c": "ls"}
    )
    assert (event["kind"], event["message"]) == ("approve", "Run it?")
    assert (event["tool_name"], event["tool_input"]) == ("bash", {"c": "ls"})
    assert "options" not in event


def test_an_approval_with_choices_of_its_own_is_a_selection_among_them() -> None:
    event = asked(prompt="Run it?", choices=["once", "always", "no"], kind="approve")
    assert (event["kind"], event["options"]) == ("select", ["once", "always", "no"])


def test_several_questions_are_no_approval() -> None:
    event = asked(questions=[{"question": "A?"}, {"question": "B?"}], kind="approve")
    assert (event["kind"], event["questions"]) == ("input", ["A?", "B?"])


@pytest.mark.parametrize("odd", [5, True, ["approve"], {"approve": 1}, "", "Approve", "x" * 5_000])
def test_odd_fields_of_a_tool_hide_no_question(odd: Any) -> None:
    event = asked(prompt="x", kind=odd, toolName=odd, toolInput=[odd])
    assert (event["kind"], event["message"]) == ("input", "x")
    assert "tool_input" not in event
    assert len(event.get("tool_name", "")) <= 200


def test_half_a_character_in_an_input_hides_no_question() -> None:
    told = message("ask_user_question", requestId="q", kind="approve", toolInput={"a": "\ud800"})
    (event,) = heard(conversation(), told)
    assert (event["kind"], event["tool_input"]) == ("approve", {"a": "?"})


@pytest.mark.parametrize("request_id", [None, 5, {"a": 1}, ["q"]])
def test_a_question_without_a_usable_id_is_kept_but_not_asked(request_id: Any) -> None:
    told = message("ask_user_question", requestId=request_id, prompt="x")
    (event,) = heard(conversation(), told)
    assert event["type"] == "foreign"


@pytest.mark.parametrize(
    ("confirmed", "answer", "questions", "sent"),
    [
        (True, "B", [], {"answer": "B"}),
        (True, ["A", "B"], [], {"answer": ["A", "B"]}),
        (True, None, [], {"answer": "yes"}),
        (False, None, [], {"answer": ""}),
        (True, "red", ["Colour?"], {"answer": "red", "answers": {"Colour?": "red"}}),
        (True, {"C": "red"}, ["C"], {"answer": "red", "answers": {"C": "red"}}),
        (
            True,
            {"C": "red", "S": 4},
            ["C", "S"],
            {"answer": "C: red\nS: 4", "answers": {"C": "red", "S": 4}},
        ),
        (True, "any", ["C", "S"], {"answer": "any", "answers": {"C": "any", "S": "any"}}),
        (False, None, ["C"], {"answer": "", "answers": {}}),
    ],
)
def test_an_answer_goes_back_in_the_form_of_its_question(
    confirmed: bool, answer: Any, questions: list[str], sent: dict[str, Any]
) -> None:
    told = json.loads(encode(answer_message(ID, "q-1", confirmed, answer, questions)))
    assert told == {
        "type": "ask_user_answer",
        "conversationId": ID,
        "requestId": "q-1",
        "confirmed": confirmed,
        **sent,
    }
