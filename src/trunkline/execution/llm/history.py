"""A conversation made fit to be sent: what every provider insists on, whatever happened before.

Histories come out of checkpoints, after cancels and crashes and from other models; one bad
message in them would make every later call fail. Pure functions; knows no provider's format.
"""

import hashlib
import re

from trunkline import limits
from trunkline.execution.llm.base import Message, ToolCall

CANCELLED = "This call was cancelled before it had a result."
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def repaired(messages: list[Message]) -> list[Message]:
    """The same conversation, in which every tool call is directly followed by its result.

    A call without a result gets a cancelled one, a result without a call goes, and so does an
    assistant message that says nothing; it starts and ends with what a model can answer.
    """
    found: list[Message] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            continue
        calls = message.get("tool_calls") or []
        if message["role"] != "assistant":
            found.append(_told(message))
        elif calls:
            found.append(message)
            found += _results(calls, messages, index + 1)
        elif message["content"].strip():
            found.append(message)
    if found and found[0]["role"] != "user":
        found.insert(0, {"role": "user", "content": "(the conversation so far)"})
    if not found or found[-1]["role"] == "assistant":
        found.append({"role": "user", "content": "(go on)"})
    return found


def _told(message: Message) -> Message:
    """What a person said, and what the model is told with it: before it what was summed up of the
    conversation, behind it the note."""
    summary, note = message.get("summary", ""), message.get("note", "")
    said = message["content"] or ("" if note or summary else "(empty message)")
    told = "\n\n".join(part for part in (summary, said, note) if part)
    return _with_pictures("user", told, message)


def flattened(messages: list[Message]) -> list[Message]:
    """The conversation for a model that knows no tools: calls and results told as text."""
    found: list[Message] = []
    for message in messages:
        if message["role"] == "tool":
            found.append(_with_pictures("user", f"[result] {message['content']}", message))
            continue
        calls = "".join(f"\n[called {call['name']}]" for call in message.get("tool_calls") or [])
        said = (message["content"] + calls).strip()
        if found and found[-1]["role"] == message["role"]:
            found[-1]["content"] += f"\n\n{said}"
            if more := message.get("pictures"):
                found[-1]["pictures"] = [*found[-1].get("pictures", []), *more]
        else:
            found.append(_with_pictures(message["role"], said, message))
    return found


def _with_pictures(role: str, content: str, message: Message) -> Message:
    told: Message = {"role": role, "content": content}
    if pictures := message.get("pictures"):
        told["pictures"] = pictures
    return told


def safe_name(name: str) -> str:
    """A tool's name that providers take. A model may have made one up that they would refuse,
    and it stays in the history."""
    return _NO_NAME.sub("_", name)[: limits.TOOL_NAME_CHARS_MAX] or "unnamed"


def safe_id(call_id: str) -> str:
    """A call's id that every provider takes, the same for a call and its result."""
    if call_id and len(call_id) <= 64 and not _NO_NAME.search(call_id):
        return call_id
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:24]


def _results(calls: list[ToolCall], messages: list[Message], start: int) -> list[Message]:
    """One result for each call, from the messages up to the model's next calls: ids are unique
    in one answer, and some servers begin again with the next."""
    results: dict[str, Message] = {}
    for index in range(start, len(messages)):
        message = messages[index]
        if message["role"] == "assistant" and message.get("tool_calls"):
            break
        if message["role"] == "tool":
            results.setdefault(message.get("tool_call_id", ""), message)
    return [results.get(call["id"]) or _cancelled(call["id"]) for call in calls]


def _cancelled(call_id: str) -> Message:
    return {"role": "tool", "content": CANCELLED, "tool_call_id": call_id, "is_error": True}
