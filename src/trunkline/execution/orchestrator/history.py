"""A conversation as a list of messages: where it is whole, where it can be cut.

Pure functions; the graph and the turns call them. Providers refuse a conversation in which a
tool call has no result or a result has no call, so calls and results stay together.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from trunkline import limits
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.texts import both_ends

CONVERSATION_MESSAGES_MAX = 1_000


def from_wire(history: Sequence[Any]) -> list[Message]:
    """`user_message.data.history`; entries of another shape are passed over."""
    kept: list[Message] = []  # starts with a question: providers want it so
    for entry in history[-CONVERSATION_MESSAGES_MAX:]:
        match entry:
            case {"role": "user", "content": str(content)} if content:
                kept.append(Message(role="user", content=content))
            case {"role": "assistant", "content": str(content)} if content and kept:
                kept.append(Message(role="assistant", content=content))
            case _:
                continue
    return trimmed(kept)


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
    for message in messages[_newest_question(messages) :]:
        calls.update({call["id"]: call for call in message.get("tool_calls", [])})
        if message["role"] == "tool" and message["tool_call_id"] in calls:
            pairs.append((calls[message["tool_call_id"]], message))
    return pairs


def trimmed(
    messages: Sequence[Message],
    chars_max: int = limits.CONVERSATION_CHARS_MAX,
    messages_max: int = CONVERSATION_MESSAGES_MAX,
) -> list[Message]:
    """The newest turns that fit. The newest one stays; where it alone is too large, its long
    tool results are shortened."""
    start = _newest_question(messages)
    newest = _shortened(messages[start:], chars_max)
    room = chars_max - sum(map(_size, newest))
    while start:
        before = _newest_question(messages[:start])
        room -= sum(map(_size, messages[before:start]))
        if room < 0 or len(messages) - before > messages_max:
            break
        start = before
    older = messages[start : len(messages) - len(newest)]
    return [*older, *newest]


def _newest_question(messages: Sequence[Message]) -> int:
    """Where the newest turn starts: turns are cut off whole."""
    for index in range(len(messages) - 1, 0, -1):
        if messages[index]["role"] == "user" and "steers" not in messages[index]:
            return index
    return 0


def _shortened(messages: Sequence[Message], chars_max: int) -> list[Message]:
    if sum(map(_size, messages)) <= chars_max:
        return list(messages)
    results = sum(1 for message in messages if message["role"] == "tool")
    share = chars_max // (2 * max(results, 1))
    return [_short(one, share) if one["role"] == "tool" else one for one in messages]


def _short(message: Message, chars_max: int) -> Message:
    short = message.copy()
    short["content"] = both_ends(message["content"], chars_max)
    return short


def _size(message: Message) -> int:
    calls: Iterable[ToolCall] = message.get("tool_calls", ())
    return len(message["content"]) + sum(len(repr(call["arguments"])) for call in calls)
