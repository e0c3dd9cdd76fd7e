"""Which calls wait for a result, and what a message's own history brings."""

import pytest

from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.history import (
    from_wire,
    newest_results,
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
