"""What a person types to a question, and what is meant by it."""

from typing import Any

import pytest

from trunkline.cli.chat.answers import Answer, NotUnderstood, choices, understood

TOOL = {"kind": "approve", "tool_name": "bash", "tool_input": {"command": "ls"}}
RULED = {**TOOL, "rule": "bash(ls *)"}
OTHERS = {**TOOL, "options": ["Yes, and trust this folder", "Reject"]}
COLOUR = {"kind": "select", "message": "Which?", "options": ["red", {"label": "green"}, "2"]}
COLOURS = {**COLOUR, "multi_select": True}
NAME = {"kind": "input", "message": "Its name?"}
CUT = {**RULED, "truncated": True}


@pytest.mark.parametrize(
    ("question", "typed", "meant"),
    [
        (TOOL, "1", Answer(True)),
        (TOOL, " y ", Answer(True)),
        (TOOL, "2", Answer(True, scope="session")),
        (TOOL, "session", Answer(True, scope="session")),
        (RULED, "3", Answer(True, scope="always")),
        (RULED, "a", Answer(True, scope="always")),
        (TOOL, "4", Answer(False)),
        (TOOL, "N", Answer(False)),
        (TOOL, "4 use the bin", Answer(False, reason="use the bin")),
        (TOOL, "no, thanks", None),
        (TOOL, "3", None),  # without a rule there is no always
        ({**RULED, "group": {"ask": 1}}, "3", None),  # nor for a person of a group
        (TOOL, "", None),
        (TOOL, "0", None),
        (TOOL, "5", None),
        (TOOL, "1 file", None),  # somebody was typing something else
        (TOOL, "yes please", None),
        (TOOL, "²", None),
        (TOOL, "9" * 5000, None),
        (TOOL, "4 " + "x" * 2001, None),
        (OTHERS, "5", Answer(True, "Yes, and trust this folder")),
        (OTHERS, "6", Answer(False, "Reject")),
        (OTHERS, "7", None),
        ({}, "1", Answer(True)),
        (COLOUR, "1", Answer(True, "red")),
        (COLOUR, "2", Answer(True, "green")),
        (COLOUR, "blue or so", Answer(True, "blue or so")),
        (COLOUR, "4", None),
        (COLOUR, "0", None),
        (COLOUR, "", None),
        (COLOUR, "/no none of them", Answer(False, reason="none of them")),
        (COLOURS, "1, 3 1", Answer(True, ["red", "2"])),
        (COLOURS, "blue", Answer(True, ["blue"])),
        (COLOURS, "1,9", None),
        (NAME, "1", Answer(True, "1")),
        (NAME, "/no", Answer(False)),
        (NAME, " ", None),
        ({"options": ["a"]}, "1", Answer(True, "a")),
        ({"options": "no list", "kind": ["odd"]}, "1", Answer(True)),
        (CUT, "1", None),
        (CUT, "4 too long", Answer(False, reason="too long")),
        ({**OTHERS, "truncated": True}, "5", None),
        ({**OTHERS, "truncated": True}, "6", Answer(False, "Reject")),
        ({**COLOUR, "truncated": True}, "1", None),
        ({**NAME, "truncated": True}, "a name", None),
    ],
)
def test_what_was_typed_is_an_answer_or_none(
    question: dict[str, Any], typed: str, meant: Answer | None
) -> None:
    if meant is None:
        with pytest.raises(NotUnderstood):
            understood(question, typed)
    else:
        assert understood(question, typed) == meant


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        (TOOL, ["1", "2", "4"]),
        (RULED, ["1", "2", "3", "4"]),
        (OTHERS, ["1", "2", "4", "5", "6"]),
        (CUT, ["It", "4"]),
        ({**OTHERS, "truncated": True}, ["It", "4", "6"]),
        (COLOUR, ["a"]),
    ],
)
def test_what_can_be_said_has_always_the_same_number(
    question: dict[str, Any], numbers: list[str]
) -> None:
    assert [line.split()[0] for line in choices(question)] == numbers


def test_a_choice_cannot_write_to_the_terminal() -> None:
    hostile = "x\x1b[2J\n1 yes"
    shown = choices({**TOOL, "rule": hostile, "options": [hostile]})
    assert all(line.isprintable() for line in shown)
