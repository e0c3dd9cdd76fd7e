"""The conversation of a session up to a turn, for a copy of it."""

import pytest

from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.forked import upto
from trunkline.execution.orchestrator.from_log import messages_of, said_in

SHORTENED: list[Message] = [
    {"role": "user", "content": "two", "turn_id": "t2", "summary": "one was said"},
    {"role": "assistant", "content": "2"},
    {"role": "user", "content": "left", "steers": "m1"},
    {"role": "assistant", "content": "2 left"},
    {"role": "user", "content": "three", "turn_id": "t3"},
    {"role": "assistant", "content": "3"},
]


@pytest.mark.parametrize(
    ("turn", "end"), [("t1", None), ("t2", 4), ("t3", 6), ("m1", None)], ids=str
)
def test_a_shortened_conversation_is_cut_where_it_still_can_be(turn: str, end: int | None) -> None:
    assert upto(SHORTENED, turn) == (None if end is None else SHORTENED[:end])


def test_turns_of_the_log_can_be_told_apart_in_the_copy() -> None:
    log = [
        {"role": "user", "content": "one", "turn_id": "t1"},
        {"role": "assistant", "content": "1", "turn_id": "t1"},
        {"role": "user", "content": "left", "turn_id": "t1", "steers": "m1"},
        {"role": "robot", "content": "?"},
        {"role": "user", "content": "two", "turn_id": "t2"},
    ]
    copied = messages_of(said_in(log))
    assert [one["content"] for one in upto(copied, "t1") or []] == ["one", "1", "left"]
    assert upto(copied, "t2") == copied
