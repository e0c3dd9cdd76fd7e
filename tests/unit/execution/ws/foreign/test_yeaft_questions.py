"""What a person's answer on a Yeaft server means."""

from typing import Any

import pytest

from trunkline.execution.ws.foreign.yeaft_questions import Asked, answer_of
from trunkline.wire.events import SessionEvent

APPROVAL = Asked("s", is_approval=True)
WORDS = Asked("s", is_approval=False)


@pytest.mark.parametrize(
    ("fields", "confirmed"),
    [
        ({"answer": "yes"}, True),
        ({"answer": " Yes. "}, True),
        ({"answer": "允许"}, True),
        ({"answer": True}, True),
        ({"answer": ["yes"]}, True),
        ({"answers": {"May I?": "yes"}}, True),
        ({"answer": "whatever", "confirmed": True}, True),
        ({"answer": "no"}, False),
        ({"answer": "yes, but not now"}, False),
        ({"answer": None}, False),
        ({}, False),
        ({"answer": {"a": "yes"}}, False),
        ({"answers": ["yes"]}, False),
        ({"answer": "yes", "confirmed": False}, False),
        ({"answer": 7}, False),
    ],
)
def test_only_a_clear_yes_lets_a_tool_run(fields: dict[str, Any], confirmed: bool) -> None:
    assert answer_of(APPROVAL, "r", fields)["confirmed"] is confirmed


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"answer": "blue"}, "blue"),
        ({"answer": ["red", "blue"]}, "red, blue"),
        ({"answers": {"Which?": "blue"}}, "blue"),
        ({"answers": {"One?": "a", "Two?": "b"}}, "One?: a\nTwo?: b"),
        ({"answer": 7}, "7"),
    ],
)
def test_words_are_the_answer_to_a_question(fields: dict[str, Any], words: str) -> None:
    assert answer_of(WORDS, "r", fields) == {"request_id": "r", "confirmed": True, "answer": words}


@pytest.mark.parametrize(
    ("fields", "confirmed"),
    [
        ({"answer": "Allow once"}, True),
        ({"answers": {"May I?": "Always"}}, True),
        ({"answer": "Reject", "confirmed": True}, False),
        ({"answer": "No, and say why"}, False),
        ({"answer": "拒绝一次"}, False),
        ({"answer": "Allow once", "confirmed": False}, False),
        ({"answer": "yes"}, True),
        ({"answer": "Something else"}, False),
    ],
)
def test_an_option_is_chosen_by_its_name(fields: dict[str, Any], confirmed: bool) -> None:
    """A server that takes the question for a choice says `confirmed` to whatever was chosen."""
    options = ["Allow once", "Always", "Reject", "No, and say why", "拒绝一次"]
    event = SessionEvent("approval_request", kind="approve", options=options)
    assert answer_of(Asked.of("s", event), "r", fields)["confirmed"] is confirmed


def test_a_yes_can_be_meant_for_longer() -> None:
    assert answer_of(APPROVAL, "r", {"answer": "Always"})["scope"] == "always"
    assert "scope" not in answer_of(APPROVAL, "r", {"answer": "yes"})
    assert "scope" not in answer_of(APPROVAL, "r", {"answer": "always", "confirmed": False})


def test_no_words_are_a_no() -> None:
    assert answer_of(WORDS, "r", {"answer": ""})["confirmed"] is False


def test_a_question_of_an_unknown_kind_needs_a_yes() -> None:
    assert Asked.of("s", SessionEvent("approval_request", kind="new")).is_approval
    assert not Asked.of("s", SessionEvent("approval_request", kind="select")).is_approval
