"""A session as it is read in a terminal."""

from typing import Any

import pytest

from trunkline.cli.transcript import Transcript, question
from trunkline.client import Event


def read(*events: dict[str, Any]) -> str:
    transcript = Transcript()
    return "".join(transcript.render(Event(i, event)) for i, event in enumerate(events, 1))


def chunk(text: str) -> dict[str, Any]:
    return {"type": "text_chunk", "content": text}


DONE = {"type": "execution_complete", "content": "Hello world"}


def test_text_flows_and_the_final_text_is_not_repeated() -> None:
    assert read(chunk("Hello "), chunk("world"), DONE) == "Hello world\n"


def test_an_answer_that_was_not_streamed_is_shown_at_the_end() -> None:
    assert read(DONE) == "Hello world\n"
    assert read({"type": "execution_complete", "final_response": "x"}) == "x\n"


def test_the_next_turn_starts_afresh() -> None:
    assert read(chunk("Hello world"), DONE, DONE) == "Hello world\nHello world\n"


def test_tools_stand_on_lines_of_their_own() -> None:
    shown = read(
        chunk("Let me see"),
        {"type": "tool_call_start", "tool_name": "search", "tool_input": {"q": "x"}},
        {"type": "tool_call_complete", "tool_name": "search", "result": "found\nit"},
        chunk("There."),
        {"type": "execution_complete"},
    )
    assert shown == 'Let me see\n→ search {"q": "x"}\n← search found\\nit\nThere.\n'


def test_errors_and_cancelled_turns_say_so() -> None:
    assert read(chunk("a"), {"type": "execution_error", "error": "boom"}) == "a\nerror: boom\n"
    assert read(chunk("a"), {"type": "execution_complete", "cancelled": True}) == "a\n(cancelled)\n"


def test_a_long_result_is_cut() -> None:
    shown = read({"type": "tool_call_complete", "tool_name": "cat", "result": "x" * 100_000})
    assert len(shown) < 400


@pytest.mark.parametrize(
    "event",
    [
        chunk("\x1b[2J\x07\x9b31m"),
        {"type": "tool_call_start", "tool_name": "\x1b]0;x\x07", "tool_input": "\x1bc"},
        {"type": "execution_error", "error": "\x1b[2J"},
        {"type": "session_status", "message": "\x1b[2J"},
        {"type": "approval_request", "message": "\x1b[2J\r"},
    ],
)
def test_nothing_a_model_says_acts_on_the_terminal(event: dict[str, Any]) -> None:
    assert not set(read(event)) & {"\x1b", "\x07", "\x9b", "\r"}


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": None},
        {"type": "text_chunk"},
        {"type": "text_chunk", "content": {"a": 1}},
        {"type": "tool_call_start", "tool_name": 5, "tool_input": [[]]},
        {"type": "approval_request"},
        {"type": "plan", "steps": [{"x": None}]},
        {"type": "no such type"},
    ],
)
def test_odd_events_are_survived(event: dict[str, Any]) -> None:
    read(event)


def test_a_question_names_the_tool_and_what_it_gets() -> None:
    asked = question({"tool_name": "shell", "tool_input": {"command": "rm x"}, "message": "Run?"})
    assert asked == 'Run? shell {"command": "rm x"}'


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"machine": "offline"}, "the machine is offline"),
        ({"message": "gone for good", "machine": "gone"}, "gone for good"),
        ({"problems": ["no clock", "no sums"]}, "no clock; no sums"),
        ({"machine": "degraded", "degraded": ["memory"]}, "not: memory"),
        ({}, "the machine is there"),
        ({"problems": "x", "degraded": 7}, "the machine is there"),
    ],
)
def test_a_status_says_what_is_missing(fields: dict[str, object], shown: str) -> None:
    event = Event(id=1, data={"type": "session_status", **fields})
    assert shown in Transcript().render(event)


def test_a_question_says_which_person_of_a_group_asks() -> None:
    asked = question({"message": "Which one?", "person": {"id": "p-1", "name": "alice"}})
    assert asked == "alice: Which one?"
