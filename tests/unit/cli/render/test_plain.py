"""A session as it is read in a terminal, and a group: who says what, though all speak at once."""

from typing import Any

import pytest

from trunkline.cli.chat.questions import question
from trunkline.cli.chat.render.plain import Plain
from trunkline.client import Event


def read(*events: dict[str, Any]) -> str:
    transcript = Plain()
    return "".join(transcript.feed(Event(i, event)) for i, event in enumerate(events, 1))


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
    assert asked == "Run?\n  tool: shell\n  command: rm x"


def test_what_a_tool_for_questions_asks_is_shown_once() -> None:
    given = {"question": "Which one?", "options": ["a", "b"]}
    about = {"tool_name": "ask_user", "tool_input": given, "message": "Which one?"}
    asked = question({**about, "kind": "select", "options": ["a", "b"]})
    assert asked == "Which one?\n  tool: ask_user\n  options:\n    1 a\n    2 b"
    # Of what is to be allowed nothing is left out.
    assert question({**about, "kind": "approve"}).count("Which one?") == 2


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
    assert shown in Plain().feed(event)


@pytest.mark.parametrize("name", ["commands", "resume", "ready"])
def test_a_status_for_programs_says_nothing_to_people(name: str) -> None:
    data = {"type": "session_status", "machine": "online", name: {"id": "x"}}
    assert Plain().feed(Event(id=1, data=data)) == ""


def test_a_question_says_which_person_of_a_group_asks() -> None:
    asked = question({"message": "Which one?", "person": {"id": "p-1", "name": "alice"}})
    assert asked == "alice: Which one?"


ALICE = {"id": "p-1", "name": "alice"}
BOB = {"id": "p-2", "name": "bob"}


def of(person: Any, kind: str, turn: str = "t-1", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "person": person, "turn_id": turn, **fields}


def says(person: Any, text: str, turn: str = "t-1") -> dict[str, Any]:
    return of(person, "text_chunk", turn, content=text)


def done(person: Any, text: str, turn: str = "t-1", **fields: Any) -> dict[str, Any]:
    return of(person, "person_complete", turn, content=text, **fields)


def end(text: str, turn: str = "t-1") -> dict[str, Any]:
    return {"type": "execution_complete", "content": text, "turn_id": turn}


def test_persons_who_speak_at_once_are_read_one_after_the_other_and_only_once() -> None:
    shown = read(
        of(ALICE, "person_start", group={"ask": 1, "depth": 0}),
        of(BOB, "person_start", group={"ask": 2, "depth": 0}),
        says(ALICE, "Good "),
        says(BOB, "Go"),
        says(ALICE, "morning"),
        of(BOB, "usage", input_tokens=3),
        says(BOB, "od day"),
        done(BOB, "Good day"),
        done(ALICE, "Good morning"),
        end("alice: Good morning\n\nbob: Good day"),
    )
    assert shown == "alice is asked\nbob is asked\nbob: Good day\nalice: Good morning\n"


def test_an_answer_that_was_not_streamed_is_shown_under_its_name() -> None:
    assert read(done(ALICE, "Yes."), end("alice: Yes.")) == "alice: Yes.\n"


def test_tools_and_questions_say_whose_they_are_and_stand_behind_what_was_said() -> None:
    shown = read(
        says(ALICE, "Let me see"),
        says(BOB, "Hm"),
        of(ALICE, "tool_call_start", tool_name="search", tool_input={"q": "x"}),
        of(ALICE, "tool_call_complete", tool_name="search", result="found"),
        of(BOB, "approval_request", message="May I?", request_id="q"),
        of(BOB, "approval_resolved", confirmed=True),
        says(ALICE, "There."),
        done(ALICE, "There."),
        done(BOB, "Hm"),
        end("alice: There.\n\nbob: Hm"),
    )
    assert shown == (
        'alice: Let me see\nalice: → search {"q": "x"}\nalice: ← search found\n'
        "bob: Hm\n? bob: May I?\nbob: allowed\nalice: There.\n"
    )


def test_who_was_asked_by_another_failed_or_was_cancelled_says_so() -> None:
    shown = read(
        of(BOB, "person_start", group={"ask": 2, "depth": 1, "cause": 1, "by": "alice"}),
        says(BOB, "I th"),
        of(BOB, "person_error", error="boom", code="TURN_FAILED"),
        says(ALICE, "Wai"),
        done(ALICE, "Wai", cancelled=True),
    )
    assert shown == (
        "bob is asked by alice\nbob: I th\nbob: error: boom\nalice: Wai\nalice: (cancelled)\n"
    )


@pytest.mark.parametrize(
    ("last", "line"),
    [
        (end("alice: half"), ""),
        ({"type": "execution_error", "turn_id": "t-1", "error": "gone"}, "error: gone\n"),
    ],
    ids=["complete", "error"],
)
def test_words_of_a_person_without_an_end_are_not_lost(last: dict[str, Any], line: str) -> None:
    assert read(says(ALICE, "half"), last) == f"alice: half\n{line}"


def test_a_turn_that_ends_while_another_goes_on_takes_nothing_of_it() -> None:
    shown = read(
        says(ALICE, "one", "t-1"),
        says(BOB, "tw", "t-2"),
        done(ALICE, "one", "t-1"),
        end("alice: one", "t-1"),
        says(BOB, "o", "t-2"),
        done(BOB, "two", "t-2"),
        end("bob: two", "t-2"),
    )
    assert shown == "alice: one\nbob: two\n"


@pytest.mark.parametrize(
    "person",
    [
        {},
        {"id": None, "name": None},
        {"id": [1], "name": {"a": "b"}},
        {"id": "\x1b[2J", "name": "\x1b]0;x\x07\nadmin"},
        "alice",
        7,
    ],
    ids=["empty", "nothing", "nested", "control characters", "text", "number"],
)
def test_odd_persons_are_survived_and_do_not_act_on_the_terminal(person: Any) -> None:
    shown = read(
        of(person, "person_start", group=[]),
        says(person, "a"),
        of(person, "tool_call_start", tool_name="t"),
        of(person, "person_error"),
        done(person, "a"),
    )
    assert not set(shown) & {"\x1b", "\x07"}
    assert "\nadmin" not in shown


def test_a_shortened_conversation_is_told_with_its_sizes() -> None:
    shown = {"type": "context_compacted", "before_tokens": 9000, "after_tokens": 2000}
    assert (
        read(shown | {"how": "summary"}) == "the conversation was shortened: 9000 → 2000 tokens\n"
    )
    nothing = {
        "type": "context_compacted",
        "how": "nothing",
        "by": "user",
        "reason": "It is short.",
    }
    assert read(nothing) == "nothing was shortened: It is short.\n"
