"""A conversation as the control plane's log has it, made the agent's own. Comes from outside.

Every call has a result: of one that has none, that is said.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import structlog
from msgspec import Meta

from trunkline import limits
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.history import unanswered

_log = structlog.get_logger(__name__)

NO_RESULT = "not finished: no result of this call was seen"


class _Call(msgspec.Struct):
    id: Annotated[str, Meta(max_length=limits.ID_CHARS_MAX)]
    name: str
    arguments: dict[str, Any] = {}


class Recorded(msgspec.Struct):
    """One message."""

    role: str
    content: str = ""
    turn_id: str | None = None
    steers: str | None = None
    tool_calls: list[_Call] = []
    tool_call_id: str = ""
    is_error: bool = False


def checked(entries: Sequence[Any]) -> list[Recorded]:
    """Entries of another shape are passed over."""
    found: list[Recorded] = []
    for one in entries:
        try:
            found.append(msgspec.convert(one, Recorded))
        except msgspec.ValidationError as error:
            _log.warning("a recorded message is left out", reason=str(error))
    return found


def messages(said: Sequence[Recorded]) -> list[Message]:
    """They begin with a question, or a call: an answer or a result alone says nothing."""
    found: list[Message] = []
    for one in said:
        if one.role == "user" or (one.role == "assistant" and (found or one.tool_calls)):
            found += _unfinished(found)
            found.append(_said(one))
        elif one.role == "tool" and any(
            call["id"] == one.tool_call_id for call in unanswered(found)
        ):
            result = Message(role="tool", content=one.content, tool_call_id=one.tool_call_id)
            if one.is_error:
                result["is_error"] = True
            found.append(result)
    return [*found, *_unfinished(found)]


def _said(one: Recorded) -> Message:
    if one.role == "user":
        question = Message(role="user", content=one.content)
        if one.steers:
            question["steers"] = one.steers
        elif one.turn_id:
            question["turn_id"] = one.turn_id
        return question
    message = Message(role="assistant", content=one.content)
    if one.tool_calls:
        message["tool_calls"] = [
            ToolCall(id=call.id, name=call.name, arguments=call.arguments)
            for call in one.tool_calls
        ]
    return message


def _unfinished(found: Sequence[Message]) -> list[Message]:
    return [
        Message(role="tool", content=NO_RESULT, tool_call_id=call["id"], is_error=True)
        for call in unanswered(found)
    ]
