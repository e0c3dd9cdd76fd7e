"""What an envelope shows of a conversation, message by message."""

import json
from typing import Any

import pytest

from trunkline.wire.yeaft.entries import entries_of, rows_of

SAID = {"type": "user", "message": {"role": "user", "content": "old question"}}
TOOL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
ANSWERED = {
    "type": "assistant",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "old answer"}, TOOL]},
}


def _resumed(messages: Any) -> bytes:
    return json.dumps({"type": "conversation_resumed", "historyMessages": messages}).encode()


def test_the_history_of_a_session_that_an_agent_takes_up_is_what_was_said_in_it() -> None:
    rows = rows_of(entries_of(7, 1234, _resumed([SAID, ANSWERED])))
    shown = [(row["role"], row["message_type"], row["content"]) for row in rows]
    assert shown == [
        ("user", "user", "old question"),
        ("assistant", "assistant", "old answer"),
        ("assistant", "tool_use", '{"command":"ls"}'),
    ]
    ids = [row["id"] for row in rows]
    assert ids == sorted(set(ids))
    assert all(7 <= one < 8 for one in ids)


@pytest.mark.parametrize(
    "messages",
    [None, 5, "text", {}, [None, 5, "x", []], [{"type": "summary"}, {"type": 5}], [[SAID]]],
    ids=["none", "number", "text", "object", "no objects", "others", "nested"],
)
def test_a_history_of_anything_else_shows_nothing(messages: Any) -> None:
    assert entries_of(7, None, _resumed(messages)) == []


@pytest.mark.parametrize(
    "message",
    [{}, {"message": 5}, {"message": {"content": 5}}, {"message": {"content": [5, None]}}],
    ids=["nothing", "no message", "no content", "no blocks"],
)
def test_a_message_without_words_has_no_row(message: dict[str, Any]) -> None:
    assert rows_of(entries_of(7, None, _resumed([{"type": "assistant", **message}]))) == []


def test_what_is_no_envelope_shows_nothing() -> None:
    assert entries_of(7, None, b"{") == []
