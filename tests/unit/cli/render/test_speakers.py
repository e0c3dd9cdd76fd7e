"""Persons and sub-agents in a terminal: who says and does what, though all do at once."""

import pytest

from tests.unit.cli.render.reader import (
    ALICE,
    BOB,
    DONE,
    Data,
    Reader,
    call,
    result,
    says,
    thinks,
)


def test_persons_who_speak_at_once_are_read_whole_under_their_names() -> None:
    shown = Reader()(
        {"type": "person_start", "person": ALICE},
        {"type": "person_start", "person": BOB, "group": {"by": "alice"}},
        says("**Good** ", person=ALICE),
        says("Day", person=BOB),
        call(person=BOB),
        says("morning", person=ALICE),
        result(person=BOB),
        {"type": "person_complete", "person": BOB, "content": "Day"},
        {"type": "person_complete", "person": ALICE, "content": "**Good** morning"},
        {"type": "usage", "person": BOB, "tokens_in": 1, "tokens_out": 2},
        {"type": "usage", "person": ALICE, "tokens_in": 1, "tokens_out": 2},
        {**DONE, "content": "alice: Good morning\n\nbob: Day"},
    )
    assert shown.split("\n")[:-1] == [
        *("alice is asked", "bob is asked by alice", ""),
        *("bob", "Day", "", "bob ▸ bash ls -la · 0.2 s", "", "alice", "Good morning", ""),
        "1.1 s · 2 tokens in, 4 out",
    ]


@pytest.mark.parametrize(
    ("events", "line"),
    [
        ([{"type": "person_error", "person": BOB, "error": "boom"}], "bob ✗ boom"),
        ([{"type": "person_complete", "person": BOB, "cancelled": True}], "bob stopped"),
        ([says("half", person=BOB), DONE], "half"),
        ([{"type": "person_complete", "person": BOB, "content": "All."}], "All."),
    ],
)
def test_a_person_who_comes_to_no_good_end_is_heard(events: list[Data], line: str) -> None:
    assert line in Reader()(*events).split("\n")


def test_a_sub_agents_work_stands_under_its_name_and_its_words_can_be_unfolded() -> None:
    read = Reader()
    own = {"agent": "scout", "parent_tool_call_id": "1"}
    shown = read(
        call("task", tool_call_id="1"),
        call("grep", tool_call_id="2", **own),
        result("grep", "one", tool_call_id="2", **own),
        says("- a\n- b\n- c\n- d\n- e\n", **own),
        result("task", "found", tool_call_id="1"),
    )
    assert shown.split("\n")[:-1] == [
        *("scout ▸ grep · 0.1 s · one", "scout", "  • a", "  • b", "  • c", "  … 2 more lines"),
        "▸ task · 0.4 s · scout · found",
    ]
    read.transcript.unfold()
    assert read.transcript.unfold() == "\n▾ scout said\n• a\n• b\n• c\n• d\n• e\n"


@pytest.mark.parametrize("width", [40, 120])
def test_no_line_about_a_person_is_too_wide(width: int) -> None:
    person = {"id": "p", "name": "a long name " * 20}
    long = "words and words " * 30
    events = (
        {"type": "person_start", "group": {"by": long}},
        thinks(long, stage="group"),
        thinks(long),
        call(tool_input={"command": long}),
        result(text=long, is_error=True),
        {"type": "plan", "plan": {"tasks": [{"title": long, "status": "pending"}]}},
        {"type": "approval_resolved", "confirmed": False, "reason": long},
        says(long),
        {"type": "person_error", "error": long, "code": "TURN_FAILED"},
    )
    read = Reader(width)
    for event in events:
        shown = read({**event, "person": person}) + read.transcript.tail()
        assert all(len(line) <= width for line in shown.split("\n")), event
