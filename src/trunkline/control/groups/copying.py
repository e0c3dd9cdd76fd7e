"""A person's events as they stand in the group's log: whose they are, and where they come from.

Pure. What is kept here under `group` is all that a restart needs to go on where it was.
"""

import hashlib
import json
from typing import Any

import msgspec

from trunkline import limits
from trunkline.control.log import events
from trunkline.wire.events import text_of

Json = dict[str, Any]

ENDS = events.TERMINAL
_LEFT_OUT = frozenset(
    # Said by the group itself, about the person's own machine, or in another protocol's words.
    ("user_message", "session_status", "foreign", "person_start", "person_complete", "person_error")
)
_REPLACED = ("raw", "person", "group", "approval_id")
_TAIL_CHARS = 12  # of a session's id: they are random, its beginning is the time

_decoder = msgspec.json.Decoder(dict[str, Any])
_encoder = msgspec.json.Encoder()


def object_of(line: str) -> Json | None:
    """An event of a log; None for what is none."""
    found: Any
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        found = _read_closely(line)
    return found if isinstance(found, dict) and isinstance(found.get("type"), str) else None


def _read_closely(line: str) -> Any:
    """Takes what is not quite JSON; of what is nested too deeply, an end is still seen."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        event = events.look(line) if '"execution_' in line else None
        return None if event is None else msgspec.structs.asdict(event)


def line_of(event: Json) -> str:
    try:
        return _encoder.encode(event).decode()
    except (ValueError, OverflowError, UnicodeError):  # half a character, a huge number
        return json.dumps(event)


def unique(session_id: str, name: Any) -> str:
    """A machine's id of a tool call or a question, told apart from all other persons'."""
    text = f"{session_id[-_TAIL_CHARS:]}.{text_of(name)}"
    if len(text) <= limits.NAME_CHARS_MAX:
        return text
    return (
        f"{session_id[-_TAIL_CHARS:]}.{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"
    )


def copied(event: Json, session_id: str, event_id: int, ask: int) -> Json | None:
    """The event of a person's session for the group's log, without its turn and its person; None
    for what means nothing there."""
    kind = event["type"]
    source: Json = {"ask": ask, "session_id": session_id, "event_id": event_id}
    if kind == "session_status" and event.get("held") is True:
        note = "waits for the machine, which is offline"
        return {"type": "thinking", "stage": "group", "content": note, "group": source}
    if kind in _LEFT_OUT:
        return None
    copy = {name: value for name, value in event.items() if name not in _REPLACED}
    if copy.get("tool_call_id") is not None:
        copy["tool_call_id"] = unique(session_id, copy["tool_call_id"])
    if kind.startswith("approval_"):
        asked = question_of(event)
        if asked is None:
            return None
        source["request_id"] = asked
        copy["request_id"] = unique(session_id, asked)
    copy["group"] = source
    return copy


def question_of(event: Json) -> str | None:
    """The machine's id of a question, under either of its names."""
    for name in ("request_id", "approval_id"):
        if isinstance(asked := event.get(name), str) and asked:
            return asked
    return None


def ended(event: Json, session_id: str, event_id: int, ask: int) -> Json:
    """The end of a person's turn: `person_complete` or `person_error`."""
    source: Json = {"ask": ask, "session_id": session_id, "event_id": event_id}
    if event["type"] == "execution_error":
        problem = text_of(event.get("error")) or "the turn failed"
        code = text_of(event.get("code")) or "TURN_FAILED"
        return {"type": "person_error", "error": problem, "code": code, "group": source}
    content = text_of(event.get("final_response")) or text_of(event.get("content"))
    copy: Json = {"type": "person_complete", "content": content, "group": source}
    if event.get("cancelled") is True:
        copy["cancelled"] = True
    return copy
