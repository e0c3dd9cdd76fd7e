"""Events of a session as a device would send them: for our machines on somebody else's server.

`from_events` keeps what a stream needs in an `Outward`, one for each session. Pure. What AGP has no
words for is left out; docs/protocols/agp.md#translation lists it.
"""

from typing import Any

from trunkline.wire import events
from trunkline.wire.agp import messages as agp
from trunkline.wire.agp.codec import encode, msg_id_of
from trunkline.wire.agp.inward import REFUSED
from trunkline.wire.agp.messages import (
    Location,
    PromptResponse,
    PromptResponsePayload,
    ToolCall,
    Update,
    UpdatePayload,
    blocks,
)
from trunkline.wire.events import SessionEvent, keep, text_of

_ENDED_KEPT = 1000
_CALLS_KEPT = 1000
_TURNS_KEPT = 1000
_ID_CHARS_MAX = 200
_SKILL = "skill-"
_TOOLS = (
    "tool_call_start",
    "tool_call_progress",
    "tool_call_complete",
    "skill_call_start",
    "skill_call_complete",
)
_REFUSALS = (REFUSED, "MODEL_REFUSED")

Payload = UpdatePayload | PromptResponsePayload


class _Turn:
    """One prompt of a session: the active one, or one that waits behind it."""

    __slots__ = ("calls", "guid", "prompt_id", "session_id", "thought", "user_id")

    def __init__(self, session_id: str, prompt_id: str, guid: str, user_id: str) -> None:
        self.session_id = session_id
        self.prompt_id = prompt_id
        self.guid = guid
        self.user_id = user_id
        self.calls: dict[str, bool] = {}
        """Tool calls that were told, and whether they are over."""
        self.thought = ""
        """The call under which the present stretch of thinking is told; empty: none."""


class Outward:
    """One session on a device."""

    def __init__(self, session_id: str, guid: str = "", user_id: str = "") -> None:
        self.session_id = session_id
        self.guid = guid
        self.user_id = user_id
        self.prompt_id = ""
        """The newest prompt that was begun or spoken of: what names no turn is of this one."""
        self.ended: dict[str, None] = {}
        """The newest prompts that have their answer: there is one for each."""
        self._turns: dict[str, _Turn] = {}

    def came(self, prompt_id: str, guid: str, user_id: str) -> None:
        """What answers this prompt echoes its addresses."""
        self.ended.pop(prompt_id, None)
        turn = self.turn(prompt_id)
        turn.guid, turn.user_id = guid, user_id

    def begin(self, prompt_id: str, guid: str, user_id: str) -> None:
        """A prompt has come, and is worked on from now on."""
        self.came(prompt_id, guid, user_id)
        self.prompt_id = prompt_id

    def turn(self, prompt_id: str) -> _Turn:
        turn = self._turns.get(prompt_id)
        if turn is None:
            turn = _Turn(self.session_id, prompt_id, self.guid, self.user_id)
            keep(self._turns, prompt_id, turn, _TURNS_KEPT)
        return turn

    def end(self, prompt_id: str) -> None:
        self._turns.pop(prompt_id, None)
        keep(self.ended, prompt_id, None, _ENDED_KEPT)


def from_events(state: Outward, event_id: int, line: str) -> list[bytes]:
    """The messages that this event becomes. The same event has the same message ids again."""
    event = events.read(line)
    if event is None:
        return []
    prompt_id = text_of(event.turn_id) or state.prompt_id
    if not prompt_id or prompt_id in state.ended:
        return []
    turn = state.turn(prompt_id)
    payloads = _payloads(turn, event, event_id)
    if event.type in events.TERMINAL:
        state.end(prompt_id)  # also of one that waited; the active one goes on
    else:
        state.prompt_id = prompt_id
    return [
        _message(turn, payload, msg_id_of(state.session_id, event_id, number))
        for number, payload in enumerate(payloads)
    ]


def _message(turn: _Turn, payload: Payload, msg_id: str) -> bytes:
    address = {"guid": turn.guid, "user_id": turn.user_id}
    if isinstance(payload, UpdatePayload):
        return encode(Update(msg_id=msg_id, payload=payload, **address))
    return encode(PromptResponse(msg_id=msg_id, payload=payload, **address))


def _payloads(turn: _Turn, event: SessionEvent, event_id: int) -> list[Payload]:
    if event.type == "thinking":
        return _thinking(turn, event, event_id)
    told: list[Payload] = []
    if event.type == "text_chunk":
        if text := text_of(event.content):
            told.append(_text(turn, text))
    elif event.type in _TOOLS:
        told += _tool(turn, event, event_id)
    elif event.type in events.TERMINAL:
        told.append(_answer(turn, event))
    if told and turn.thought:
        call_id, turn.thought = turn.thought, ""
        told.insert(0, _call(turn, agp.TOOL_CALL_UPDATE, ToolCall(call_id, agp.COMPLETED)))
    return told


def _thinking(turn: _Turn, event: SessionEvent, event_id: int) -> list[Payload]:
    """AGP knows thinking as a kind of tool call: one for each stretch of it."""
    text = text_of(event.content)
    if not text:
        return []
    is_first = not turn.thought
    turn.thought = turn.thought or f"thinking-{event_id}"
    call = ToolCall(turn.thought, agp.IN_PROGRESS, content=blocks(text))
    if not is_first:
        return [_call(turn, agp.TOOL_CALL_UPDATE, call)]
    call.title, call.kind = "thinking", "think"
    return [_call(turn, agp.TOOL_CALL, call)]


def _tool(turn: _Turn, event: SessionEvent, event_id: int) -> list[Payload]:
    call_id = _call_id(turn, event, event_id)
    is_known = call_id in turn.calls
    is_over = event.type.endswith("_complete")
    if is_over and turn.calls.get(call_id):
        return []
    call = ToolCall(call_id, _status(event, is_over=is_over))
    if not is_known or event.title is not None:
        call.title = text_of(event.title) or text_of(event.tool_name or event.skill_name) or None
    if event.kind is not None:
        call.kind = event.kind if event.kind in agp.KINDS else "other"
    call.locations = _locations(event) or None
    content = text_of(event.result if is_over else event.content)
    if content:
        call.content = blocks(content)
    keep(turn.calls, call_id, is_over or turn.calls.get(call_id, False), _CALLS_KEPT)
    return [_call(turn, agp.TOOL_CALL_UPDATE if is_known else agp.TOOL_CALL, call)]


def _call_id(turn: _Turn, event: SessionEvent, event_id: int) -> str:
    """The call's own id. One without is the newest that is not over, or opens one."""
    given = text_of(event.tool_call_id)
    if event.type.startswith("skill_"):
        # A skill is read inside a tool call, whose id it may carry: two calls, two ids.
        return f"{_SKILL}{given or text_of(event.skill_name)}"[:_ID_CHARS_MAX]
    if not given and not event.type.endswith("_start"):
        for call_id, is_over in reversed(turn.calls.items()):
            if not is_over and not call_id.startswith(_SKILL):
                return call_id
    return (given or f"call-{event_id}")[:_ID_CHARS_MAX]


def _status(event: SessionEvent, *, is_over: bool) -> str:
    if is_over:
        return agp.FAILED if event.has_failed else agp.COMPLETED
    return agp.PENDING if event.status == agp.PENDING else agp.IN_PROGRESS


def _locations(event: SessionEvent) -> list[Location]:
    """Paths that the event names: as a device's own does, or in the tool's input."""
    named = event.locations if isinstance(event.locations, list) else []
    paths: list[Any] = [one.get("path") for one in named if isinstance(one, dict)]
    if not paths and isinstance(event.given_input, dict):
        paths = [event.given_input.get("path")]
    return [Location(path) for path in paths if isinstance(path, str)]


def _answer(turn: _Turn, event: SessionEvent) -> PromptResponsePayload:
    content = blocks(event.answer_text) if event.answer_text else None
    error = None
    if event.type == "execution_complete":
        reason = agp.CANCELLED if event.cancelled is True else agp.END_TURN
    else:
        reason = agp.REFUSAL if event.code in _REFUSALS else agp.ERROR
        error = text_of(event.error) or text_of(event.code) or "the turn failed"
    return PromptResponsePayload(
        turn.session_id, turn.prompt_id, reason, content=content, error=error
    )


def _text(turn: _Turn, text: str) -> UpdatePayload:
    return UpdatePayload(
        turn.session_id, turn.prompt_id, agp.MESSAGE_CHUNK, content=blocks(text)[0]
    )


def _call(turn: _Turn, update_type: str, call: ToolCall) -> UpdatePayload:
    return UpdatePayload(turn.session_id, turn.prompt_id, update_type, tool_call=call)
