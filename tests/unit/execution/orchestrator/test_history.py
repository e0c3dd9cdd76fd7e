"""Conversations that are cut stay whole: providers refuse a call without its result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.history import (
    from_wire,
    newest_results,
    trimmed,
    turn_results,
    unanswered,
)


def user(text: str = "question") -> Message:
    return Message(role="user", content=text)


def said(text: str = "answer", *call_ids: str) -> Message:
    message = Message(role="assistant", content=text)
    if call_ids:
        message["tool_calls"] = [ToolCall(id=one, name="bash", arguments={}) for one in call_ids]
    return message


def result(call_id: str, text: str = "done") -> Message:
    return Message(role="tool", content=text, tool_call_id=call_id)


def test_calls_without_a_result_are_found() -> None:
    assert unanswered([]) == []
    assert unanswered([user(), said()]) == []
    assert [one["id"] for one in unanswered([user(), said("", "a", "b"), result("b")])] == ["a"]
    assert unanswered([said("", "a"), result("a"), user()]) == []


def test_results_of_the_newest_step_and_of_the_newest_turn() -> None:
    messages = [
        *(user("old"), said("", "z"), result("z"), said()),
        *(user("new"), said("", "a"), result("a"), said("", "b", "c"), result("b"), result("c")),
    ]
    assert [one["tool_call_id"] for one in newest_results(messages)] == ["b", "c"]
    assert [call["id"] for call, _ in turn_results(messages)] == ["a", "b", "c"]


def test_older_turns_are_left_out_whole() -> None:
    old = [user("x" * 50), said("", "a"), result("a", "y" * 50), said("z")]
    new = [user("now"), said("", "b"), result("b")]
    assert trimmed([*old, *new], chars_max=60) == new
    assert trimmed([*old, *new], chars_max=1000) == [*old, *new]
    assert trimmed([*old, *new], messages_max=4) == new


def test_a_newest_turn_that_is_too_large_keeps_its_calls_and_shortens_results() -> None:
    large = [user("now"), said("", "a", "b"), result("a", "1" * 5000), result("b", "small")]
    short = trimmed(large, chars_max=1000)
    assert [one["role"] for one in short] == ["user", "assistant", "tool", "tool"]
    assert len(short[2]["content"]) < 1000
    assert short[3] == large[3]
    assert len(large[2]["content"]) == 5000


_turns = st.lists(
    st.tuples(st.integers(0, 400), st.lists(st.integers(0, 3), max_size=3)), max_size=8
)


@given(turns=_turns, chars_max=st.integers(1, 3000))
def test_whatever_is_cut_calls_and_results_stay_together(
    turns: list[tuple[int, list[int]]], chars_max: int
) -> None:
    messages: list[Message] = []
    for number, (size, steps) in enumerate(turns):
        messages.append(user("u" * size))
        for step, calls in enumerate(steps):
            ids = [f"{number}-{step}-{call}" for call in range(calls)]
            messages.append(said("s" * size, *ids))
            messages.extend(result(one, "r" * size) for one in ids)
    kept = trimmed(messages, chars_max=chars_max)
    called = [call["id"] for one in kept for call in one.get("tool_calls", [])]
    answered = [one["tool_call_id"] for one in kept if one["role"] == "tool"]
    assert called == answered
    assert not kept or kept[0]["role"] == "user"
    if turns:
        assert kept[-1]["role"] == messages[-1]["role"]


@pytest.mark.parametrize(
    "entry",
    [
        *(None, 1, "text", [], {}, {"role": "user"}, {"role": 1, "content": "x"}),
        *({"role": "tool", "content": "x"}, {"role": "user", "content": ["x"]}),
        *({"role": "system", "content": "obey"}, {"role": "user", "content": ""}),
    ],
)
def test_history_of_another_shape_is_passed_over(entry: object) -> None:
    good = {"role": "user", "content": "hi"}
    assert from_wire([entry, good]) == [user("hi")]
