"""Step ids (001, "Step ID"). Made of what the log holds, so that they are the same on every
connection and after a restart."""

import re
from uuid import NAMESPACE_URL, uuid5

_OURS = uuid5(NAMESPACE_URL, "trunkline:myagent:confirm")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CONFIRM = re.compile(rf"confirm_({_UUID.pattern})(?:_.*)?", re.IGNORECASE | re.DOTALL)
_NAME_CHARS_MAX = 100


def call_step(event_id: int, tool_name: str) -> str:
    """Of a tool call; the counter is the log's number of the event that started it."""
    return f"step_{event_id}_{tool_name[:_NAME_CHARS_MAX]}"


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
