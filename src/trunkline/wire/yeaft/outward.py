"""Session events to what Yeaft web clients get (docs/protocols/yeaft.md#messages-to-web-clients).

An envelope of a Yeaft agent, and a line that a program wrote itself, pass as they came; everything
else becomes `claude_output` and its kin. Pure: one `Outward` per session and dialect holds what a
stream must remember.
"""

import json
from collections.abc import Callable
from typing import Any

import msgspec

from trunkline.wire import events
from trunkline.wire.errors import UNREADABLE
from trunkline.wire.events import SessionEvent, text_of
from trunkline.wire.yeaft import outward_program as program
from trunkline.wire.yeaft import outward_speech as speech
from trunkline.wire.yeaft import outward_turns as turns
from trunkline.wire.yeaft import stream_json
from trunkline.wire.yeaft.entries import entries_of, rows_of
from trunkline.wire.yeaft.outward_frames import envelope, session_ready, slash_commands
from trunkline.wire.yeaft.outward_state import Out, Outward

_VERBATIM = b'{"protocol":"yeaft","message":'
_READY = "session_ready"
_RESUMED = "conversation_resumed"
_DEPLOYED_READY = ("conversation_created", _RESUMED)
_SYSTEM = frozenset(
    (
        "plan",
        "plan_created",
        "plan_step_start",
        "plan_step_complete",
        "plan_step_failed",
        "file_created",
        "file_changed",
    )
)
"""Told as system events of the same name, with their fields."""
_NAME_CHARS_MAX = 200
_NOT_SHOWN = ("type", "subtype", "raw", "ts", "turn_id")

_MAKERS: dict[str, Callable[[Outward, int, SessionEvent], list[bytes]]] = {
    "text_chunk": speech.text,
    "thinking": speech.thinking,
    "tool_call_start": speech.tool_start,
    "tool_call_progress": speech.tool_progress,
    "tool_call_complete": speech.tool_end,
    "skill_call_start": speech.tool_start,
    "skill_call_complete": speech.tool_end,
    "mcp_call_start": speech.tool_start,
    "mcp_call_complete": speech.tool_end,
    "approval_request": speech.asked,
    "approval_resolved": speech.answered,
    "person_start": turns.person_start,
    "person_complete": turns.person_end,
    "person_error": turns.person_end,
}


def from_events(state: Outward, event_id: int, line: str) -> list[Out]:
    """What one event of the log becomes; nothing for what this wire cannot say."""
    event = events.read(line)
    if event is None or event.echo is True:  # of what a person said: everybody has it already
        return []
    if event.raw:
        bodies = _verbatim(state, event_id, event)
        if bodies is not None:
            return [Out(body) for body in bodies]
    make = _MAKERS.get(event.type)
    if make is not None:
        return [Out(body) for body in make(state, event_id, event)]
    match event.type:
        case "user_message":
            return turns.user_message(state, event)
        case "execution_complete" | "execution_error":
            return [Out(body) for body in turns.end(state, event, None, "")]
        case "usage":
            return [Out(body) for body in turns.usage(state, event, _fields(line))]
        case "session_status":
            return [Out(body) for body in _status(state, event_id, event, _fields(line))]
        case "session_closed":
            return [Out(body) for body in turns.closed(state, event)]
        case kind if kind in _SYSTEM:
            return [Out(state.frame(event).data(stream_json.system(kind, **_fields(line))))]
    return []


def _verbatim(state: Outward, event_id: int, event: SessionEvent) -> list[bytes] | None:
    """The words that the event was made of, where they may pass as they came."""
    if not state.relays:
        return program.passed(state, event)
    original = _original(event)
    return None if original is None else _relayed(state, event_id, event, original)


class _Peek(msgspec.Struct):
    type: Any = None
    data: Any = None


_peek = msgspec.json.Decoder(_Peek)


def _original(event: SessionEvent) -> bytes | None:
    """The envelope that the event was made of; empty if an earlier event had it, None if it is
    of another protocol."""
    found = events.original_of(event, program.PROTOCOL)
    return _sliced(bytes(event.raw)) if found is None else bytes(found.message)


def _sliced(raw: bytes) -> bytes | None:
    """Of an envelope with half of a character in it, which only Python's own decoder takes."""
    if not raw.startswith(_VERBATIM):
        return None
    original = raw[len(_VERBATIM) : -1]
    try:
        json.loads(original)
    except (ValueError, RecursionError):
        return None
    return original


def _kind(original: bytes) -> str:
    """An envelope's type, or `result` for output that is one."""
    try:
        peek = _peek.decode(original)
    except UNREADABLE:
        return ""
    if isinstance(peek.data, dict) and peek.data.get("type") == "result":
        return "result"
    return text_of(peek.type)


def _relayed(state: Outward, event_id: int, event: SessionEvent, original: bytes) -> list[bytes]:
    if event.type in events.TERMINAL:
        return turns.end(state, event, original, _kind(original))
    if event.type == "session_status" and isinstance(event.ready, dict):
        return _ready(state, event_id, event, original)
    if event.type == "approval_request" and state.deployed and b'"questions"' not in original:
        return speech.asked(state, event_id, event)  # deployed clients can read no other form
    if event.type in ("usage", "foreign") and event.person is None:
        state.turn(event).has_result |= _kind(original) == "result"
    return [original] if original else []


def _ready(state: Outward, event_id: int, event: SessionEvent, original: bytes) -> list[bytes]:
    """Clients wait for it under the name that they know. Deployed ones must also be told the
    agent, which does not name itself."""
    if isinstance(event.machine_id, str) and state.relays:
        state.agent_id = event.machine_id
    state.ready = event.ready
    session_id = event.ready.get("session_id")
    if isinstance(session_id, str) and session_id:
        state.session_id = session_id[:_NAME_CHARS_MAX]
    kind = _kind(original)
    if kind == _READY and not state.deployed:
        return [original]
    passed = [original] if original and not (state.deployed and kind in _DEPLOYED_READY) else []
    if state.deployed and (event.ready.get("again") is True or not state.relays):
        return passed  # the page shows the conversation already, and would begin it anew
    more = {}
    if state.deployed and kind == _RESUMED:
        more = {"dbMessages": rows_of(entries_of(event_id, event.ts, original))}
    made = session_ready(
        state.conversation_id, state.agent_id, event.ready, deployed=state.deployed, **more
    )
    return [*passed, made]


def _status(
    state: Outward, event_id: int, event: SessionEvent, fields: dict[str, Any]
) -> list[bytes]:
    if isinstance(event.ready, dict):
        return _ready(state, event_id, event, b"")
    if isinstance(fields.get("commands"), list):
        state.commands = slash_commands(state.conversation_id, fields["commands"])
        return [state.commands]
    if isinstance(event.machine_id, str):
        state.agent_id = event.machine_id
        state.group_id = state.group_id and event.machine_id
    message = _status_text(event, fields)
    if message:
        return [state.own.data(stream_json.system("status", **{**fields, "message": message}))]
    if event.machine not in ("online", "offline"):
        return []
    return [
        envelope(
            "agent_status",
            conversationId=state.conversation_id,
            agentId=state.agent_id,
            state=event.machine,
        )
    ]


def _status_text(event: SessionEvent, fields: dict[str, Any]) -> str:
    """What a person should read about it; nothing for mere comings and goings."""
    if fields.get("held"):
        return "the machine is offline: the message waits until it is back"
    if fields.get("lost_events"):
        return f"the machine lost {text_of(fields['lost_events'])} events here"
    if event.machine == "gone":
        return text_of(event.message) or "the machine is gone"
    for name in ("problems", "degraded"):
        if isinstance(fields.get(name), list) and fields[name]:
            return "; ".join(text_of(one) for one in fields[name])
    return ""


def _fields(line: str) -> dict[str, Any]:
    """What an event holds besides; only of those that are rare enough to be read twice."""
    try:
        found = msgspec.json.decode(line, type=dict[str, Any])
    except UNREADABLE:
        return {}
    return {name: value for name, value in found.items() if name not in _NOT_SHOWN}
