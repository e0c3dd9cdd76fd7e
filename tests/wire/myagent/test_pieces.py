"""Pieces of an answer that are joined: none is lost, and each stays whose it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.myagent.talk import (
    END,
    NOW_MS,
    SAID,
    SESSION,
    Json,
    all_shown,
    names,
    outward,
    shown,
)
from trunkline.wire.myagent.outward import from_events, under_way
from trunkline.wire.myagent.pieces import Block, Piece

ADA: Json = {"id": "p1", "name": "Ada"}
BOB: Json = {"id": "p2", "name": "Bob"}
PLAN: Json = {"type": "plan", "plan": [{"title": "a"}], "turn_id": "t1"}
DONE: Json = {"type": "plan_step_complete", "title": "a", "turn_id": "t1"}


def text(content: str, **fields: Any) -> Json:
    return {"type": "text_chunk", "content": content, "turn_id": "t1", "ts": NOW_MS, **fields}


def joined(*events: Json) -> tuple[Block, list[Json]]:
    """All pieces of these events as one block, and its messages."""
    state, block = outward(), Block(1)
    for event_id, event in enumerate(events, 1):
        for made in from_events(state, event_id, json.dumps(event)):
            if isinstance(made, Piece):
                block.add(event_id, made)
    return block, [json.loads(body) for body in block.encoded(SESSION)]


@pytest.mark.proves("notes-2-joined")
def test_pieces_become_one_message_with_the_number_of_the_first() -> None:
    block, (message,) = joined(SAID, text("a"), text("b"), text("c", ts=NOW_MS + 500))
    assert message["event"] == "agent.partial_answer"
    assert (message["content"], message["session_id"]) == ("abc", SESSION)
    assert message["metadata"] == {"chunk_index": 0, "chunk_count": 3, "turn_id": "t1"}
    assert message["timestamp"] == "2027-01-15T08:00:00.000Z"
    assert (block.last_id, block.chars) == (4, 3)


def test_a_piece_alone_is_as_it_was() -> None:
    _, (message,) = joined(SAID, text("a"))
    assert message["metadata"] == {"chunk_index": 0, "turn_id": "t1"}


def test_persons_of_a_group_who_speak_at_once_are_joined_each_on_their_own() -> None:
    pieces = [text(f"{n}", person=ADA if n % 2 else BOB) for n in range(6)]
    _, messages = joined(SAID, *pieces)
    assert [(one["content"], one["metadata"]["person"]["name"]) for one in messages] == [
        ("024", "Bob"),
        ("135", "Ada"),
    ]
    assert [one["metadata"]["chunk_index"] for one in messages] == [0, 1]


def test_pieces_of_two_turns_are_not_mixed() -> None:
    second = {**SAID, "turn_id": "t2"}
    _, messages = joined(SAID, second, text("a"), text("b", turn_id="t2"), text("c"))
    assert [(one["content"], one["metadata"]["turn_id"]) for one in messages] == [
        ("ac", "t1"),
        ("b", "t2"),
    ]


@given(st.lists(st.tuples(st.sampled_from(["", "t1", "t2"]), st.text(min_size=1)), min_size=1))
def test_whatever_is_joined_nothing_is_lost(pieces: list[tuple[str, str]]) -> None:
    _, messages = joined(SAID, *(text(one, turn_id=turn) for turn, one in pieces))
    for turn in {turn for turn, _ in pieces}:
        said = "".join(one for name, one in pieces if name == turn)
        own = [one for one in messages if one["metadata"].get("turn_id", "") == turn]
        assert [one["content"] for one in own] == [said.encode("utf-8", "replace").decode()]


@pytest.mark.proves("notes-2-turn-steps")
def test_thoughts_pieces_and_the_answer_of_a_turn_have_its_steps() -> None:
    thought = {"type": "thinking", "content": "hm", "turn_id": "t1"}
    messages = all_shown(SAID, thought, text("a"), text("b"), END, first_id=7)
    steps = {(one["event"], one["step_id"]) for one in messages}
    assert steps == {
        ("agent.thinking", "step_7_thinking"),
        ("agent.partial_answer", "step_7_answer"),
        ("agent.final_answer", "step_7_answer"),
    }


@pytest.mark.proves("notes-2-busy")
def test_a_turn_begins_with_one_thought_before_anything_else() -> None:
    (first, *more) = all_shown(SAID, text("a"), END, state=outward(llm_messages=True))
    assert (first["event"], first["metadata"]["turn_id"]) == ("agent.thinking", "t1")
    assert [one["event"] for one in more].count("agent.thinking") == 0


@pytest.mark.parametrize(
    ("story", "is_running"),
    [
        ([], False),
        ([SAID], True),
        ([SAID, text("a")], True),
        ([text("a")], True),  # its beginning is too long ago
        ([SAID, END], False),
        ([SAID, END, text("late")], False),
        ([SAID, END, {"type": "usage", "tokens_in": 1}], False),
        ([SAID, END, PLAN, DONE], False),
        ([text("a"), END, text("late")], False),
        ([SAID, END, text("late"), SAID], True),
    ],
)
def test_who_begins_to_follow_is_told_of_a_running_turn(
    story: list[Json], is_running: bool
) -> None:
    state = outward()
    shown(*story, state=state)
    told = under_way(state)
    assert (told is not None) is is_running
    if told is not None:
        assert (told.event, told.session_id) == ("agent.thinking", SESSION)


def test_what_comes_behind_a_turns_end_is_not_told_as_work() -> None:
    state = outward()
    all_shown(SAID, END, state=state)
    status = {"type": "session_status", "message": "x"}
    late = all_shown(text("late"), PLAN, DONE, status, state=state)
    assert "agent.thinking" not in names(late)
    assert "plan.completed" in names(late)


@pytest.mark.proves("notes-2-show-content")
@pytest.mark.parametrize(
    ("call", "text_shown"),
    [
        ({"tool_input": {"c": "ls"}}, 'bash {"c":"ls"}'),
        ({"title": "List files", "tool_input": {}}, "bash List files {}"),
        ({}, "bash"),
    ],
)
def test_a_tool_call_says_what_a_person_reads_of_it(call: Json, text_shown: str) -> None:
    (message,) = shown({"type": "tool_call_start", "tool_name": "bash", **call})
    assert message["show_content"] == text_shown


def test_what_a_person_reads_of_a_large_call_is_bounded() -> None:
    call = {"type": "tool_call_start", "tool_name": "x", "tool_input": {"c": "y" * 50_000}}
    (message,) = shown(call)
    assert len(message["show_content"]) < 1_100
    assert len(message["content"]["arguments"]["c"]) == 50_000
