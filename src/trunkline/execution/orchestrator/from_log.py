"""A conversation as the control plane tells it out of its log: what was said, every tool call and
every result. Read by what makes a damaged session whole and by what begins a copy of one."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import structlog
from msgspec import Meta

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.history import unanswered

_log = structlog.get_logger(__name__)

NO_RESULT = "not finished: no result of this call was seen"


class Call(msgspec.Struct):
    id: Annotated[str, Meta(max_length=limits.ID_CHARS_MAX)]
    name: str
    arguments: dict[str, Any] = {}


class Said(msgspec.Struct):
    """One message; comes from outside."""

    role: str
    content: str = ""
    turn_id: str | None = None
    steers: str | None = None
    tool_calls: list[Call] = []
    tool_call_id: str = ""
    is_error: bool = False


def said_in(history: Sequence[Json]) -> list[Said]:
    """Entries of another shape are passed over."""
    found: list[Said] = []
    for entry in history:
        try:
            found.append(msgspec.convert(entry, Said))
        except msgspec.ValidationError as error:
            _log.warning("a message of the log is left out", reason=str(error))
    return found


def messages_of(said: Sequence[Said]) -> list[Message]:
    """Every call has a result, as providers want it; messages of other roles are passed over."""
    found: list[Message] = []
    for one in said:
        if one.role == "user" or (one.role == "assistant" and (found or one.tool_calls)):
            found += _unfinished(found)
            message = Message(
                role="user" if one.role == "user" else "assistant", content=one.content
            )
            if one.role == "user" and one.steers:
                message["steers"] = one.steers
            elif one.role == "user" and one.turn_id:
                message["turn_id"] = one.turn_id
            if one.tool_calls:
                message["tool_calls"] = [
                    ToolCall(id=call.id, name=call.name, arguments=call.arguments)
                    for call in one.tool_calls
                ]
            found.append(message)
        elif one.role == "tool" and found:
            result = Message(role="tool", content=one.content, tool_call_id=one.tool_call_id)
            if one.is_error:
                result["is_error"] = True
            found.append(result)
    return [*found, *_unfinished(found)]


def _unfinished(messages: Sequence[Message]) -> list[Message]:
    return [
        Message(role="tool", content=NO_RESULT, tool_call_id=call["id"], is_error=True)
        for call in unanswered(messages)
    ]
