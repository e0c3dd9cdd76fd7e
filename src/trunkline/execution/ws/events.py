"""Events on their way up: what may be joined, what may never be dropped, what is too large.

Readers get an event's JSON text as it is; it is only put together anew when pieces of text were
joined. Knows nothing of files and lines.
"""

import asyncio
import re
from collections.abc import Callable
from math import inf

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json

SESSION_QUIET_S = 0.5  # without an event: the session's next one goes first
COALESCE_S = 0.07  # at most, before an event is on disk
JOINED_CHARS_MAX = 64 * 1024  # of one event put together from pieces of text
EVENT_CUT_FIELDS_MAX = 100  # that are left of one
EVENT_CUT_NAME_CHARS_MAX = 100
EVENT_CUT_VALUE_BYTES_MAX = 1_000
EVENT_CUT_TEXT_CHARS = 20_000  # of what people read


_STREAMED = frozenset(("text_chunk", "thinking", "tool_call_progress"))
"""Pieces of one text: two in a row that differ in nothing else say the same as one."""
_THOUGHTS = (None, "", "reasoning", "openclaw")
"""The stages of what is thought in pieces; of any other, each event is a sentence of its own."""
_KEPT = frozenset(
    (
        "execution_complete",
        "execution_error",
        "approval_request",
        "approval_resolved",
        "steer_taken",
    )
)
"""Somebody waits for these, a person or a turn; without the last, a message that has reached the
model in one turn would be said again in another."""
_KNOWN = re.compile("|".join(f'"{kind}"' for kind in sorted(_STREAMED | _KEPT)))
"""Most other events need not be decoded to see that they are none of these."""
_READ_BY_PEOPLE = frozenset(("content", "final_response", "error", "message", "result"))

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


class Event:
    """One event, or several pieces of text that became one."""

    __slots__ = ("_chars", "_fields", "_pieces", "_text", "is_kept", "turn_id")

    def __init__(self, data: str) -> None:
        # A lone surrogate is no text that could travel.
        self._text: str | None = data if data.isascii() else data.encode(errors="replace").decode()
        self._fields: Json | None = None
        self._pieces: list[str] = []
        self._chars = 0
        self.is_kept = False
        self.turn_id: str | None = None
        """Of an event that is kept: the turn that it belongs to."""
        if _KNOWN.search(data):
            self._look(data)

    def _look(self, data: str) -> None:
        fields = _object(data)
        if fields is None:
            return
        kind, content, turn_id = fields.get("type"), fields.get("content"), fields.get("turn_id")
        if not isinstance(kind, str):
            return
        if kind in _KEPT:
            self.is_kept = True
            self.turn_id = turn_id if isinstance(turn_id, str) else None
        elif kind == "thinking" and fields.get("stage") not in _THOUGHTS:
            return
        elif kind in _STREAMED and isinstance(content, str) and len(data) <= 2 * JOINED_CHARS_MAX:
            self._fields = fields
            self._pieces = [content]
            self._chars = len(content)

    def join(self, other: "Event") -> bool:
        """Takes the text of the event that came right after this one; False if they differ in
        more than their text, or the text would become too long."""
        if self._fields is None or other._fields is None:
            return False
        if self._chars + other._chars > JOINED_CHARS_MAX:
            return False
        if _kind(self._fields) != _kind(other._fields):
            return False
        self._pieces += other._pieces
        self._chars += other._chars
        self._text = None
        return True

    @property
    def is_words(self) -> bool:
        """Whether it is a piece of what people read as it comes."""
        return self._fields is not None

    @property
    def text(self) -> str:
        """The JSON text that readers get."""
        if self._text is None:
            assert self._fields is not None
            self._pieces = ["".join(self._pieces)]
            fields = {**self._fields, "content": self._pieces[0]}
            self._text = _encoder.encode(fields).decode()
        return self._text


def cut(data: str) -> str | None:
    """An event that is too large for the line, without what makes it so; None when it is no
    object and nothing can be said of it."""
    fields = _object(data)
    if fields is None:
        return None
    kept: Json = {}
    for name, value in list(fields.items())[:EVENT_CUT_FIELDS_MAX]:
        if len(name) > EVENT_CUT_NAME_CHARS_MAX:
            continue
        if isinstance(value, str) and name in _READ_BY_PEOPLE:
            kept[name] = value[:EVENT_CUT_TEXT_CHARS]
        elif len(_encoder.encode(value)) <= EVENT_CUT_VALUE_BYTES_MAX:
            kept[name] = value
    return _encoder.encode({**kept, "truncated": True}).decode()


class Coalescer:
    """Holds events for a moment, so that pieces of one text that come together become one.

    Order within a session is kept; text never waits behind another session's. `deliver` gets what
    was held, session by session, when it has waited long enough or `spill` is called.
    """

    def __init__(self, clock: Callable[[], float], deliver: Callable[[str, Event], None]) -> None:
        self._clock = clock
        self._deliver = deliver
        self._held: dict[str, list[Event]] = {}
        self._last_at: dict[tuple[str, bool], float] = {}
        """Of each session: when it last said anything, and when words."""
        self._chars = 0
        self._timer: asyncio.TimerHandle | None = None
        self.is_urgent = False
        """Somebody waits for it: the first words of a session that was quiet or begins a turn,
        the end of a turn, a question."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, session_id: str, data: str) -> bool:
        """Whether it is one of those that must not be lost."""
        now = self._clock()
        event = Event(data)
        said = [(session_id, False), (session_id, True)][: 1 + event.is_words]
        is_first = any(now - self._last_at.get(one, -inf) > SESSION_QUIET_S for one in said)
        self.is_urgent = self.is_urgent or is_first or event.is_kept
        if event.is_kept:
            self.forget(session_id)  # what follows an end is a beginning
        else:
            self._last_at.update(dict.fromkeys(said, now))
        self._chars += len(data)
        held = self._held.setdefault(session_id, [])
        if not (held and held[-1].join(event)):
            held.append(event)
        if self._chars > limits.BATCH_BYTES_MAX:
            self.spill()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(COALESCE_S, self.spill)
        return event.is_kept

    def spill(self) -> None:
        """Everything that is held is delivered now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, {}
        self._chars = 0
        for session_id, events in held.items():
            for event in events:
                self._deliver(session_id, event)
        self.is_urgent = False

    def forget(self, session_id: str) -> None:
        """The session has ended."""
        for is_words in (False, True):
            self._last_at.pop((session_id, is_words), None)


def _kind(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if name not in ("content", "ts")}


def _object(data: str) -> Json | None:
    try:
        fields = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None
