"""Questions to the person, and the persons of a group, on their way to web clients."""

import json
from typing import Any

import pytest

from tests.wire.yeaft.outward_lines import AGENT, CONVERSATION, kinds, line, messages, relayed

ASKED = line(
    "approval_request",
    request_id="q-1",
    kind="approve",
    message="Run rm?",
    tool_name="bash",
    tool_input={"cmd": "rm"},
    timeout_seconds=300,
    turn_id="t1",
)
ANSWERED = line(
    "approval_resolved", request_id="q-1", confirmed=True, answer="yes", answered_by="u"
)


@pytest.mark.proves("002-5.2-permission-is-a-question")
@pytest.mark.proves("002-7-question", "002-4.2-ask-user-question")
def test_a_question_for_approval_is_a_choice_of_yes_and_no() -> None:
    assert messages(ASKED) == [
        {
            "type": "ask_user_question",
            "conversationId": CONVERSATION,
            "requestId": "q-1",
            "prompt": 'Run rm?\n{"cmd":"rm"}',
            "choices": ["yes", "no"],
            "multiSelect": False,
            "kind": "approve",
            "toolName": "bash",
            "toolInput": {"cmd": "rm"},
            "timeoutSeconds": 300,
        }
    ]


def asked_for(**fields: Any) -> str:
    """What pages show of a question."""
    question = {"kind": "approve", "message": "May I?", "tool_name": "bash", **fields}
    (found,) = messages(line("approval_request", request_id="q", **question))
    assert isinstance(found["prompt"], str)
    return found["prompt"]


@pytest.mark.parametrize("nothing", [{}, {"tool_input": None}, {"tool_input": {}}])
def test_a_tool_without_an_input_is_asked_for_in_its_own_words(nothing: dict[str, Any]) -> None:
    assert asked_for(**nothing) == "May I?"


def test_an_input_is_shown_whole_however_long_it_is() -> None:
    command = "x" * 200_000 + "; rm -r ."
    assert asked_for(tool_input=command) == f"May I?\n{command}"


@pytest.mark.parametrize("odd", [5, True, ["rm", "-r"], "rm -r", {"a": {"b": [None]}}])
def test_an_input_of_any_form_is_shown(odd: Any) -> None:
    given = odd if isinstance(odd, str) else json.dumps(odd, separators=(",", ":"))
    assert asked_for(tool_input=odd) == f"May I?\n{given}"


@pytest.mark.parametrize("more", [{"kind": "input"}, {"kind": "select"}])
def test_questions_for_words_and_choices_show_no_input(more: dict[str, Any]) -> None:
    assert asked_for(tool_input={"question": "May I?"}, options=["A"], **more) == "May I?"


@pytest.mark.proves("002-7-question")
def test_choices_are_those_of_the_question_and_free_text_has_none() -> None:
    (select,) = messages(
        line(
            "approval_request",
            request_id="q",
            kind="select",
            message="Which?",
            options=["A", {"label": "B"}],
            multi_select=True,
        )
    )
    assert (select["choices"], select["multiSelect"]) == (["A", "B"], True)
    (free,) = messages(line("approval_request", approval_id="q", kind="input", message="Name?"))
    assert "choices" not in free
    assert free["requestId"] == "q"


def test_an_answer_closes_the_dialog_of_everybody() -> None:
    assert messages(ANSWERED) == [
        {
            "type": "ask_user_answered",
            "conversationId": CONVERSATION,
            "requestId": "q-1",
            "confirmed": True,
            "answer": "yes",
            "answeredBy": "u",
        }
    ]


def test_a_question_without_an_id_can_be_answered_by_nobody_and_is_not_shown() -> None:
    assert messages(line("approval_request", message="?"), line("approval_resolved")) == []


def test_deployed_clients_get_the_question_at_its_tool_call_and_as_questions() -> None:
    use, question = messages(ASKED, deployed=True)
    block = use["data"]["message"]["content"][0]
    assert (block["name"], block["id"]) == ("AskUserQuestion", "q-1")
    assert question["questions"] == block["input"]["questions"]
    assert question["questions"] == [
        {
            "question": 'Run rm?\n{"cmd":"rm"}',
            "header": "",
            "options": [
                {"label": "yes", "description": ""},
                {"label": "no", "description": ""},
            ],
            "multiSelect": False,
        }
    ]
    result, told = messages(ANSWERED, deployed=True)
    assert result["data"]["message"]["content"][0]["tool_use_id"] == "q-1"
    assert told["type"] == "ask_user_answered"


ALICE, BOB = {"id": "p-a", "name": "alice"}, {"id": "p-b", "name": "bob"}


@pytest.mark.proves("002-5.3-persons-by-type")
@pytest.mark.proves("002-4.2-yeaft-output", "002-6-output-by-person")
def test_each_person_of_a_group_is_streamed_under_its_own_id() -> None:
    found = messages(
        line("person_start", person=ALICE, turn_id="t1"),
        line("text_chunk", content="A", person=ALICE, turn_id="t1"),
        line("text_chunk", content="B", person=BOB, turn_id="t1"),
        is_group=True,
    )
    assert kinds(found) == ["yeaft_output"] * 3
    assert [one["vpId"] for one in found] == ["p-a", "p-a", "p-b"]
    assert found[1] == {
        "type": "yeaft_output",
        "conversationId": CONVERSATION,
        "groupId": AGENT,
        "vpId": "p-a",
        "vpName": "alice",
        "data": {
            "type": "assistant",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "A"}]},
        },
    }


def test_each_person_ends_with_a_result_and_the_group_with_one_more() -> None:
    found = messages(
        line("text_chunk", content="A", person=ALICE, turn_id="t1"),
        line("person_complete", content="A", person=ALICE, turn_id="t1"),
        line("person_error", error="broken", code="X", person=BOB, turn_id="t1"),
        line("execution_complete", content="alice: A", turn_id="t1"),
        is_group=True,
    )
    results = [one for one in found if one["data"]["type"] == "result"]
    assert [one.get("vpId") for one in results] == ["p-a", "p-b", None]
    assert [one["data"]["is_error"] for one in results] == [False, True, False]
    assert found[-1]["type"] == "claude_output"
    texts = [one for one in found if one["data"]["type"] == "assistant"]
    assert len(texts) == 1, "what the persons said is not said again"


def test_a_person_whose_answer_was_not_streamed_is_heard_all_the_same() -> None:
    found = messages(
        line("person_complete", content="late", person=ALICE, turn_id="t1"), is_group=True
    )
    assert found[0]["data"]["message"]["content"] == [{"type": "text", "text": "late"}]
    assert found[0]["vpId"] == "p-a"


def test_a_persons_question_says_whose_it_is() -> None:
    asked = line("approval_request", request_id="q", kind="input", message="?", person=BOB)
    (found,) = messages(asked, is_group=True)
    assert (found["groupId"], found["vpId"], found["vpName"]) == (AGENT, "p-b", "bob")


def test_a_deployed_client_reads_questions_of_agents_of_either_dialect() -> None:
    fields = {"request_id": "q", "kind": "select", "message": "Which?", "options": ["A", "B"]}
    own = {"type": "ask_user_question", "requestId": "q", "prompt": "Which?", "choices": ["A", "B"]}
    asked = relayed("approval_request", json.dumps(own), **fields)
    assert messages(asked) == [own], "as it came"
    _, told = messages(asked, deployed=True)
    (question,) = told["questions"]
    assert (told["requestId"], question["question"]) == ("q", "Which?")
    assert [one["label"] for one in question["options"]] == ["A", "B"]
    listed = {"type": "ask_user_question", "requestId": "q", "questions": [{"question": "Which?"}]}
    assert messages(relayed("approval_request", json.dumps(listed), **fields), deployed=True) == [
        listed
    ]
