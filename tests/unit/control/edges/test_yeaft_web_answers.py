"""What an answer means, by the kind of its question and the way in which it is given."""

from typing import Any

import pytest

from trunkline.control.edges.yeaft_web.talk import answer_of
from trunkline.control.errors import InvalidRequest
from trunkline.wire.answers import Answer

APPROVE = {"kind": "approve"}
SELECT = {"kind": "select", "options": ["A", "B"]}
YEAFTS = {"kind": "input", "raw": {"protocol": "yeaft", "message": {}}}


@pytest.mark.parametrize(
    ("fields", "confirmed"),
    [
        ({"answer": "yes"}, True),
        ({"answer": " Yes. "}, True),
        ({"answer": "同意"}, True),
        ({"answer": True}, True),
        ({"answers": {"Run?": "yes"}}, True),
        ({"answers": {"Run?": ["yes"]}}, True),
        ({"answer": "no"}, False),
        ({"answer": False}, False),
        ({"answer": ""}, False),
        ({"answer": None}, False),
        ({}, False),
        ({"answers": {"Run?": "no"}}, False),
    ],
)
def test_yes_and_no_are_known_in_many_forms(fields: dict[str, Any], confirmed: bool) -> None:
    assert answer_of(APPROVE, fields)[0] is confirmed
    assert answer_of({}, fields)[0] is confirmed, "a question without a kind wants yes or no"


@pytest.mark.parametrize("answer", ["maybe", 7, ["a", "b"], {"a": "x", "b": "y"}])
def test_what_is_neither_is_not_guessed(answer: object) -> None:
    with pytest.raises(InvalidRequest):
        answer_of(APPROVE, {"answer": answer})


def test_a_choice_is_what_was_chosen_even_if_it_is_called_no() -> None:
    assert answer_of(SELECT, {"answer": "B"}) == Answer(True, "B")
    assert answer_of(SELECT, {"answer": "no"}) == Answer(True, "no")
    assert answer_of(SELECT, {"answers": {"Which?": ["A", "B"]}}) == Answer(True, ["A", "B"])
    assert answer_of(SELECT, {"answers": {"Which?": ["A"]}}) == Answer(True, "A")
    assert answer_of(SELECT, {}) == Answer(False, None)
    assert answer_of({"options": ["A", "B"]}, {"answer": "B"}) == Answer(True, "B"), (
        "a choice as well"
    )


def test_a_yes_can_be_meant_for_longer_and_an_option_be_named() -> None:
    assert answer_of(APPROVE, {"answer": "always"}) == Answer(True, "always", scope="always")
    offered = {**APPROVE, "options": ["Allow once", "Reject"]}
    assert answer_of(offered, {"answer": "Allow once"}) == Answer(True, "Allow once")
    assert answer_of(offered, {"answer": "Reject"}) == Answer(False, "Reject")


def test_answers_to_a_yeaft_agents_question_go_back_as_they_came() -> None:
    answers = {"Color?": "red"}
    assert answer_of(YEAFTS, {"answers": answers}) == Answer(True, answers)


def test_answers_that_are_no_object_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        answer_of(SELECT, {"answers": ["A"]})


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({"answer": "Allow once"}, (True, "Allow once")),
        ({"answers": {"May I?": "Always"}}, (True, "Always")),
        ({"answer": "Reject"}, (False, "Reject")),
        ({"answer": "yes"}, (True, "yes")),
        ({"answer": "no"}, (False, "no")),
    ],
)
def test_an_option_of_a_request_for_permission_is_chosen_by_its_name(
    fields: dict[str, Any], meant: tuple[bool, str]
) -> None:
    asked = {"kind": "approve", "options": ["Allow once", {"name": "Always"}, "Reject"]}
    assert answer_of(asked, fields)[:2] == meant
