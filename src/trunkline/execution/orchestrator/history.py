"""A conversation as a list of messages: where it is whole, where its turns begin.

Pure functions; the graph and the turns call them. Providers refuse a conversation in which a
tool call has no result or a result has no call, so calls and results stay together.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from trunkline.execution.llm.base import Message, ToolCall

HISTORY_MESSAGES_MAX = 1_000


def from_wire(history: Sequence[Any]) -> list[Message]:
    """`user_message.data.history`; entries of another shape are passed over."""
    kept: list[Message] = []  # starts with a question: providers want it so
    for entry in history[-HISTORY_MESSAGES_MAX:]:
        match entry:
            case {"role": "user", "content": str(content)} if content:
                kept.append(Message(role="user", content=content))
            case {"role": "assistant", "content": str(content)} if content and kept:
                kept.append(Message(role="assistant", content=content))
            case _:
                continue
    return kept


def unanswered(messages: Sequence[Message]) -> list[ToolCall]:
    """Tool calls of the newest step that have no result yet."""
    answered = set[str]()
    for message in reversed(messages):
        if message["role"] != "tool":
            return [one for one in message.get("tool_calls", []) if one["id"] not in answered]
        answered.add(message["tool_call_id"])
    return []


def call_ids(messages: Iterable[Message]) -> set[str]:
    """The ids of all tool calls."""
    return {call["id"] for message in messages for call in message.get("tool_calls", [])}


def newest_results(messages: Sequence[Message]) -> list[Message]:
    """Results of the newest step."""
    start = len(messages)
    while start and messages[start - 1]["role"] == "tool":
        start -= 1
    return list(messages[start:])


def turn_results(messages: Sequence[Message]) -> list[tuple[ToolCall, Message]]:
    """Calls of the newest turn with their results, in order."""
    calls: dict[str, ToolCall] = {}
    pairs: list[tuple[ToolCall, Message]] = []
    for message in messages[newest_question(messages) :]:
        calls.update({call["id"]: call for call in message.get("tool_calls", [])})
        if message["role"] == "tool" and message["tool_call_id"] in calls:
            pairs.append((calls[message["tool_call_id"]], message))
    return pairs


def newest_question(messages: Sequence[Message], before: int | None = None) -> int:
    """Where the newest turn starts, of those that start before an index."""
    for index in range((len(messages) if before is None else before) - 1, 0, -1):
        if messages[index]["role"] == "user" and "steers" not in messages[index]:
            return index
    return 0


def newest_step(messages: Sequence[Message]) -> int:
    """Where the newest message of a model is; behind it are its calls' results, and what was said
    to the turn meanwhile. Where a turn has only begun, the end."""
    start = len(messages)
    while start and messages[start - 1]["role"] == "user" and "steers" in messages[start - 1]:
        start -= 1
    while start and messages[start - 1]["role"] == "tool":
        start -= 1
    if start and messages[start - 1]["role"] == "assistant":
        return start - 1
    return len(messages)
