"""What a device says of a turn, as events for the session's log. Pure.

`to_events` keeps the little that a stream needs in an `Inward`, one for each active prompt; after
a restart `recall` fills it again from the log.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from trunkline.wire import events
from trunkline.wire.agp import messages as agp
from trunkline.wire.agp.messages import (
    MESSAGE_CHUNK,
    Location,
    PromptResponse,
    ToolCall,
    Update,
)
from trunkline.wire.errors import UNREADABLE, Malformed

REFUSED = "REFUSED"
DEVICE_ERROR = "DEVICE_ERROR"
_ENDED = (agp.COMPLETED, agp.FAILED)


class _TextChunk(msgspec.Struct, tag="text_chunk", gc=False):
    """The event that nearly every message becomes. It has no `ts`: pieces follow each other, and
    the turn's other events say when that was."""

    content: str
    turn_id: str
    msg_id: str


class Logged(msgspec.Struct):
    """An event of the log, as far as it says what a device had sent before a restart."""

    type: str = ""
    msg_id: Any = None
    turn_id: Any = None
    content: Any = None
    tool_call_id: Any = None
    tool_name: Any = None


_encode = msgspec.json.Encoder().encode
_logged = msgspec.json.Decoder(Logged)


def read_logged(line: str) -> Logged | None:
    """None for an event that no message of a device became."""
    if '"msg_id"' not in line:
        return None
    try:
        found = _logged.decode(line)
    except UNREADABLE:
        return None
    return found if isinstance(found.msg_id, str) else None


class CallBounds(NamedTuple):
    """What is kept of a tool call: every event of it repeats that."""

    title_chars: int
    word_chars: int
    path_chars: int
    locations: int

    def cut(self, call: ToolCall) -> ToolCall:
        """The same call within the bounds. Its content is bounded by the frame that it came in."""
        some = (call.locations or ())[: self.locations]
        return ToolCall(
            call.tool_call_id,
            call.status[: self.word_chars],
            title=call.title and call.title[: self.title_chars],
            kind=call.kind and call.kind[: self.word_chars],
            content=call.content,
            locations=[Location(one.path[: self.path_chars]) for one in some],
        )


@dataclass(slots=True, init=False)
class Inward:
    """One turn on a device. A value."""

    turn_id: str
    turn_field: str
    """The same, as a piece of a log line."""
    call_bounds: CallBounds
    streamed: events.BoundedText
    heard: bool
    """Whether the device has said anything of this turn."""
    has_news: bool
    """The same, since somebody last looked and took it back."""
    is_whole: bool
    """False: what was streamed before a restart is not all known here."""
    _calls: dict[str, tuple[str, bool]]
    """Each tool call's name, and whether it is over."""
    _calls_max: int

    def __init__(
        self, turn_id: str, *, chars_max: int, calls_max: int, call_bounds: CallBounds
    ) -> None:
        self.turn_id = turn_id
        self.turn_field = f',"turn_id":{_encode(turn_id).decode()}'
        self.call_bounds = call_bounds
        self.streamed = events.BoundedText(chars_max)
        self.heard = self.has_news = False
        self.is_whole = True
        self._calls, self._calls_max = {}, calls_max

    def recall(self, event: Logged) -> None:
        """An event of this turn that is in the log."""
        self.heard = True
        if event.type == "text_chunk" and isinstance(event.content, str):
            self.streamed.add(event.content)
        elif isinstance(event.tool_call_id, str) and isinstance(event.tool_name, str):
            is_over = event.type == "tool_call_complete"
            self.note(event.tool_call_id, event.tool_name, is_over=is_over)

    def name_of(self, call_id: str) -> str | None:
        call = self._calls.get(call_id)
        return call[0] if call is not None else None

    def is_over(self, call_id: str) -> bool:
        return self._calls.get(call_id, ("", False))[1]

    def note(self, call_id: str, name: str, *, is_over: bool) -> None:
        events.keep(self._calls, call_id, (name, is_over), self._calls_max)


def to_events(state: Inward, message: Update | PromptResponse, ts: int) -> list[str]:
    """The message as lines of the log, each with the message's id. `Malformed` if it says
    nothing that could be understood."""
    state.heard = state.has_news = True
    if isinstance(message, PromptResponse):
        return [_end(state, message, ts)]
    payload = message.payload
    kind, block = payload.update_type, payload.content
    if kind == MESSAGE_CHUNK and block is not None:
        if isinstance(block.text, int | float):
            raise Malformed("a piece of text that is a number")
        text = block.shown
        if not text:
            return []
        state.streamed.add(text)
        return [_encode(_TextChunk(text, state.turn_id, message.msg_id)).decode()]
    if kind not in agp.UPDATE_TYPES:
        raise Malformed(f"update_type {kind[:40]!r} is not known")
    if payload.tool_call is None or kind == MESSAGE_CHUNK:
        raise Malformed(f"a {kind} that says nothing")
    return _tool_lines(state, state.call_bounds.cut(payload.tool_call), message.msg_id, ts)


def _tool_lines(state: Inward, call: ToolCall, msg_id: str, ts: int) -> list[str]:
    """A call starts, goes on, and is over: each once, whatever the device calls its messages."""
    call_id = call.tool_call_id
    known = state.name_of(call_id)
    name = known or call.title or call.kind or "tool"
    was_over = state.is_over(call_id)
    is_over = call.status in _ENDED
    state.note(call_id, name, is_over=is_over or was_over)
    locations = [one.path for one in call.locations or ()]
    common = {
        "tool_call_id": call_id,
        "tool_name": name,
        "kind": call.kind,
        "title": call.title,
        "locations": [{"path": path} for path in locations] or None,
        "turn_id": state.turn_id,
        "msg_id": msg_id,
        "ts": ts,
    }
    result = agp.shown(call.content)
    lines = []
    if known is None:
        status = None if is_over else call.status
        lines.append(events.line("tool_call_start", status=status, **common))
    if is_over and not was_over:
        failed = call.status == agp.FAILED
        lines.append(events.line("tool_call_complete", result=result, is_error=failed, **common))
    elif result or (known is not None and not was_over):
        more = events.line("tool_call_progress", content=result, status=call.status, **common)
        lines.append(more)
    return lines


def _end(state: Inward, message: PromptResponse, ts: int) -> str:
    payload = message.payload
    given = agp.shown(payload.content)
    content = given or (state.streamed.text if state.is_whole else None)
    common = {"turn_id": state.turn_id, "msg_id": message.msg_id, "ts": ts}
    match payload.stop_reason:
        case agp.END_TURN:
            return events.line("execution_complete", content=content, **common)
        case agp.CANCELLED:
            return events.line("execution_complete", content=content, cancelled=True, **common)
        case agp.REFUSAL:
            error, code = payload.error or given or "the device's app refused", REFUSED
        case agp.ERROR:
            error, code = payload.error or given or "the device's app failed", DEVICE_ERROR
        case unknown:
            why = f"the device ended the turn with an unknown stop_reason: {unknown[:40]!r}"
            error, code = f"{why}: {payload.error}" if payload.error else why, DEVICE_ERROR
    return events.line("execution_error", error=error, code=code, content=given or None, **common)
