"""The ids on this wire: step ids, and the event ids by which a client says what it has got
(docs/protocols/myagent.md#identifiers, docs/protocols/myagent.md#positions).

Step ids are made of what the log holds, so that they are the same on every connection and after a
restart.
"""

import re
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from trunkline.wire.errors import Malformed
from trunkline.wire.myagent.messages import Uplink

_OURS = uuid5(NAMESPACE_URL, "trunkline:myagent:confirm")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CONFIRM = re.compile(rf"confirm_({_UUID.pattern})(?:_.*)?", re.IGNORECASE | re.DOTALL)
_NAME_CHARS_MAX = 100


def call_step(event_id: int, tool_name: str) -> str:
    """Of a tool call; the counter is the log's number of the event that started it."""
    return f"step_{event_id}_{tool_name[:_NAME_CHARS_MAX]}"


def turn_step(event_id: int, what: str) -> str:
    """Of what a turn thinks, or answers; the counter is the log's number of the user's message."""
    return f"step_{event_id}_{what}"


def confirm_step(session_id: str, request_id: str, tool_name: str) -> str:
    """Of a question to a person."""
    return f"confirm_{confirm_id(session_id, request_id)}_{tool_name[:_NAME_CHARS_MAX]}"


def confirm_id(session_id: str, request_id: str) -> str:
    """The question's own id where that is a UUID, else one that is made of it."""
    if _UUID.fullmatch(request_id):
        return request_id.lower()
    return str(uuid5(_OURS, f"{session_id}:{request_id.encode('utf-8', 'replace').decode()}"))


def confirm_id_of(step_id: str) -> str | None:
    """The id in a question's step id; None if it is no question's."""
    match = _CONFIRM.fullmatch(step_id)
    return match[1].lower() if match else None


class Seen(NamedTuple):
    """How far a client has read: a number, and the connection that it counts on, if it is named."""

    connection_id: str | None
    seq: int | None


UNSAID = Seen(None, None)
NOTHING_YET = Seen(None, 0)
"""Messages are numbered from 1: nothing of any connection."""


def seen_of(message: Uplink, number_max: int) -> Seen:
    """`last_event_id`, else `last_seq`: beside the content, in it, or in the metadata."""
    event_id = _named(message, "last_event_id")
    if isinstance(event_id, str) and "-" in event_id:
        connection_id, _, number = event_id.rpartition("-")
        return Seen(connection_id, _number(number if connection_id else None, number_max))
    last = event_id if event_id is not None else _named(message, "last_seq")
    return UNSAID if last is None else Seen(None, _number(last, number_max))


def _named(message: Uplink, name: str) -> Any:
    beside = getattr(message, name)
    if beside is not None:
        return beside
    for place in (message.content, message.metadata):
        if isinstance(place, dict) and place.get(name) is not None:
            return place[name]
    return None


def _number(value: Any, number_max: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= number_max:
        raise Malformed("last_seq and last_event_id must be as they were received")
    return value
