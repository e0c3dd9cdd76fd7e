"""Conversations that are shortened stay whole: providers refuse a call without its result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.execution.orchestrator.test_history import result, said, user
from trunkline.execution.llm import tokens
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator import compaction


def conversation(turns: list[tuple[int, list[int]]]) -> list[Message]:
    messages: list[Message] = []
    for number, (size, steps) in enumerate(turns):
        messages.append(user(f"question {number} " + "u" * size))
        for step, calls in enumerate(steps):
            ids = [f"{number}-{step}-{call}" for call in range(calls)]
            messages.append(said("s" * size, *ids))
            messages.extend(result(one, "r" * size) for one in ids)
    return messages


_turns = st.lists(
    st.tuples(st.integers(0, 4000), st.lists(st.integers(0, 3), max_size=4)), min_size=1, max_size=8
)


@given(turns=_turns, room=st.integers(1, 5000))
def test_whatever_is_cut_calls_and_results_stay_together(
    turns: list[tuple[int, list[int]]], room: int
) -> None:
    messages = conversation(turns)
    cleared = compaction.without_old_outputs(messages, room)
    cut = compaction.cut(cleared, room)
    kept = compaction.squeezed(cut.kept(cleared), room)
    called = [call["id"] for one in kept for call in one.get("tool_calls", [])]
    assert called == [one["tool_call_id"] for one in kept if one["role"] == "tool"]
    assert kept[0]["role"] == "user"
    newest = messages[-1]
    assert kept[-1]["role"] == newest["role"]
    questions = [one for one in messages if one["role"] == "user"]
    stay = [one for one in kept if one["role"] == "user"]
    assert questions[-len(stay) :] == stay
    old = cut.old(messages)
    assert {one["content"] for one in messages} <= {
        one["content"] for one in (*old, *cut.kept(messages))
    }


@given(turns=_turns, room=st.integers(300, 5000))
def test_a_transcript_and_a_digest_fit(turns: list[tuple[int, list[int]]], room: int) -> None:
    messages = conversation(turns)
    assert tokens.of_text(compaction.transcript(messages, room)) <= room
    assert tokens.of_text(compaction.digest(messages, room)) <= room


def test_the_newest_outputs_stay_and_old_ones_are_cleared() -> None:
    messages = conversation([(2000, [2]), (2000, [1]), (10, [])])
    cleared = compaction.without_old_outputs(messages, 2000)
    outputs = [one["content"] for one in cleared if one["role"] == "tool"]
    assert outputs == [compaction.CLEARED, compaction.CLEARED, "r" * 2000]
    unread = [user(), said("", "a"), result("a", "r" * 90_000)]
    assert compaction.without_old_outputs(unread, 2000) == unread


def test_arguments_of_a_large_step_are_cut_where_nothing_else_helps() -> None:
    call = ToolCall(id="a", name="write_file", arguments={"path": "x", "content": "y" * 90_000})
    step = Message(role="assistant", content="", tool_calls=[call])
    short = compaction.squeezed([user("now"), step, result("a")], 1000)
    assert tokens.of_messages(short) <= 1000
    assert short[1]["tool_calls"][0]["arguments"]["path"] == "x"


def todo(*items: str) -> Message:
    call = ToolCall(id="t", name="todo_write", arguments={"todos": list(items)})
    return Message(role="assistant", content="", tool_calls=[call])


@pytest.mark.parametrize(
    ("old", "kept", "listed"),
    [
        ([user(), todo("a"), todo("b")], [user()], '{"todos":["b"]}'),
        ([user(), todo("a")], [user(), todo("b")], ""),
        ([user(), said()], [user()], ""),
        (
            [Message(role="user", content="q", summary="x\nThe todo list as it stands:\nold")],
            [],
            "old",
        ),
    ],
)
def test_the_todo_list_outlives_what_is_summed_up(
    old: list[Message], kept: list[Message], listed: str
) -> None:
    assert compaction.todo_list(old, kept) == listed


def test_a_summary_is_told_before_the_question_that_stays() -> None:
    [first, answer] = compaction.with_summary([user("now"), said()], "before")
    assert (first["summary"], first["content"], answer) == ("before", "now", said())
    assert compaction.with_summary([said()], "before")[0]["role"] == "user"
