"""A conversation made shorter, so that it fits a model's window. Pure: `summary` asks the model.

Calls and results stay together, a turn is cut only between its steps, and the newest part stays
as it is. Sizes are estimates in tokens (`llm/tokens`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from trunkline.execution.llm import tokens
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.history import newest_question, newest_step
from trunkline.execution.texts import both_ends, clipped, shortened

CLEARED = "[This old output was cleared to save room. Call the tool again if you need it.]"
TODO_TOOL = "todo_write"
TODO_MARK = "The todo list as it stands:\n"
_CLEARED_CHARS_MIN = 400  # a shorter output is not worth clearing
_NEWEST_PART = 0.35  # of the room, for what stays as it is
_FEWEST_CHARS = 200


class Cut(NamedTuple):
    """Where a conversation is cut in two: what is summed up, and what stays. That begins with a
    question; `start` is behind it where some of its own steps are summed up too."""

    question: int
    start: int

    def old(self, messages: Sequence[Message]) -> list[Message]:
        return list(messages[: self.start])

    def kept(self, messages: Sequence[Message]) -> list[Message]:
        if self.start > self.question:
            return [messages[self.question], *messages[self.start :]]
        return list(messages[self.start :])


def without_old_outputs(messages: Sequence[Message], room: float) -> list[Message]:
    """The outputs of tools but the newest ones are cleared; those of the newest step stay, for
    nobody has read them."""
    kept = list(messages)
    left = room * _NEWEST_PART
    newest = newest_step(messages)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message["role"] != "tool":
            continue
        left -= tokens.of_message(message)
        if index < newest and left < 0 and len(message["content"]) > _CLEARED_CHARS_MIN:
            kept[index] = _cleared(message)
    return kept


def _cleared(message: Message) -> Message:
    cleared = message.copy()
    cleared["content"] = CLEARED
    cleared.pop("pictures", None)
    return cleared


def cut(messages: Sequence[Message], room: float) -> Cut:
    """The newest turns stay, as many as a third of the room holds; of a newest turn that is larger
    its question and its newest steps."""
    room *= _NEWEST_PART
    start = newest_question(messages)
    size = tokens.of_messages(messages[start:])
    if size > room:
        return _cut_turn(messages, start, room)
    while start:
        before = newest_question(messages, start)
        size += tokens.of_messages(messages[before:start])
        if size > room:
            break
        start = before
    return Cut(start, start)


def _cut_turn(messages: Sequence[Message], question: int, room: float) -> Cut:
    """Between two steps; the newest one stays in any case."""
    start = max(newest_step(messages), question + 1)
    room -= tokens.of_message(messages[question]) + tokens.of_messages(messages[start:])
    for step in range(start - 1, question, -1):
        if messages[step]["role"] == "tool":
            continue
        room -= tokens.of_messages(messages[step:start])
        if room < 0:
            break
        start = step
    return Cut(question, question if start == question + 1 else start)


def with_summary(kept: Sequence[Message], summary: str) -> list[Message]:
    """What stays, told with what was before it."""
    if not kept or kept[0]["role"] != "user":
        return [Message(role="user", content="(go on)", summary=summary), *kept]
    first = kept[0].copy()
    first["summary"] = summary
    return [first, *kept[1:]]


def squeezed(messages: Sequence[Message], room: float) -> list[Message]:
    """The last resort: long outputs and arguments are cut to their ends, as far as is needed. What
    a person said stays."""
    size = max((_chars(one) for one in messages if one["role"] != "user"), default=0)
    found = list(messages)
    while tokens.of_messages(found) > room and size > _FEWEST_CHARS:
        size = max(size // 2, _FEWEST_CHARS)
        found = [one if one["role"] == "user" else _ends(one, size) for one in messages]
    return found


def _chars(message: Message) -> int:
    calls = message.get("tool_calls", ())
    return max((len(message["content"]), *(len(repr(call["arguments"])) for call in calls)))


def _ends(message: Message, chars_max: int) -> Message:
    short = message.copy()
    short["content"] = both_ends(message["content"], chars_max)
    if calls := message.get("tool_calls"):
        short["tool_calls"] = [
            ToolCall(id=one["id"], name=one["name"], arguments=clipped(one["arguments"], chars_max))
            for one in calls
        ]
        short.pop("provider_blocks", None)
    short.pop("pictures", None)
    return short


def todo_list(old: Sequence[Message], kept: Sequence[Message]) -> str:
    """As it stands, where what stays does not show it."""
    if _newest_todo(kept):
        return ""
    if listed := _newest_todo(old):
        return listed
    told = (one.get("summary", "").partition(TODO_MARK)[2] for one in (*kept, *old))
    return next((listed for listed in told if listed), "")


def _newest_todo(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        for call in reversed(message.get("tool_calls", [])):
            if call["name"] == TODO_TOOL:
                return msgspec.json.encode(call["arguments"]).decode()
    return ""


def transcript(messages: Sequence[Message], room: float) -> str:
    """A conversation as text that fits: long parts are cut to their ends, more and more."""
    for chars_max in (6_000, 2_000, 600, 200):
        text = "\n\n".join(_told(messages, chars_max))
        if tokens.of_text(text) <= room:
            return text
    return fitted(text, room)


def fitted(text: str, room: float) -> str:
    """Both ends of a text, as much as the room holds."""
    size = tokens.of_text(text)
    while size > room and len(text) > _FEWEST_CHARS:
        text = both_ends(text, max(int(len(text) * room / size * 0.9) - 50, _FEWEST_CHARS // 2))
        size = tokens.of_text(text)
    return text


def _told(messages: Sequence[Message], chars_max: int) -> Iterator[str]:
    for message in messages:
        if summary := message.get("summary"):
            yield summary
        if message["role"] == "tool":
            yield f"[result] {both_ends(message['content'], chars_max // 3)}"
            continue
        who = "USER" if message["role"] == "user" else "ASSISTANT"
        if message["content"].strip():
            yield f"{who}: {both_ends(message['content'], chars_max)}"
        for call in message.get("tool_calls", ()):
            arguments = msgspec.json.encode(clipped(call["arguments"], chars_max // 3)).decode()
            yield f"[called {call['name']}] {arguments}"


def digest(old: Sequence[Message], room: float) -> str:
    """What a program can say of a conversation: what was asked, which files, the last answer."""
    asked = _newest((one["content"] for one in old if one["role"] == "user"), 300)
    answers = _newest((one["content"] for one in old if one["role"] == "assistant"), 600)
    earlier = next((one["summary"] for one in old if one.get("summary")), "")
    calls = [call for one in old for call in one.get("tool_calls", ())]
    paths = [call["arguments"].get("path") for call in calls if isinstance(call["arguments"], dict)]
    files = list(dict.fromkeys(shortened(one, 120) for one in paths if isinstance(one, str)))[-30:]
    parts = [
        earlier,
        "What the user asked for, oldest first:\n" + "\n".join(f"- {one}" for one in asked[-20:]),
        "Files: " + ", ".join(files) if files else "",
        f"The last answer: {answers[-1]}" if answers else "",
    ]
    return fitted("\n\n".join(part for part in parts if part), room)


def _newest(texts: Iterator[str], chars_max: int) -> list[str]:
    return [shortened(" ".join(one.split()), chars_max) for one in texts if one.strip()]
