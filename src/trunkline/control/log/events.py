"""The control plane's own view of session events (docs/protocols/events.md).

Most events pass unread. The few that change a record, or are not a machine's to say, are
recognised by words in the text and only then decoded here.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET

from trunkline import limits
from trunkline.wire.errors import Malformed

TERMINAL = ("execution_complete", "execution_error")
NOT_STARTED = (
    *("RUNTIME_UNSUPPORTED", "RUNTIME_UNAVAILABLE", "WORKSPACE_REFUSED"),
    *("SESSION_LIMIT", "SESSION_START_FAILED"),
)
"""Codes with which a machine says that it does not run a session that it was told to start."""
OURS = ("user_message", "steer_missed", "session_closed")
"""What people and the control plane do: no machine's word for it counts."""
STREAMED = ('{"type":"text_chunk",', '{"type": "text_chunk",')
"""How nearly all events begin: pieces of text, which mean nothing to any record."""
_STATUS = "session_status"
_WATCHED = (*TERMINAL, "approval_request", "approval_resolved", "steer_taken", *OURS)
ANOTHER_TYPE = '"type"', 8
"""What no piece of text has behind its beginning: of two types a reader takes the last. Inside of
a text, quotes are escaped."""
ESCAPED = "\\u00"
"""How a word can be written that is not seen: nobody escapes letters who has nothing to hide."""
_TYPE = ANOTHER_TYPE[0]
_HIDDEN_LETTER = re.compile(r"\\u00[4-7]")
"""Other than `ESCAPED`, which many write for letters with accents."""
_OUR_WORDS = tuple(f'"{kind}"' for kind in (_STATUS, *OURS, "approval_resolved"))
_WORDS = ('"execution_', '"approval_', '"steer_taken"', *_OUR_WORDS, ESCAPED)


class Watched(msgspec.Struct):
    """What the records need of an event. Lenient: an odd field must not hide a turn's end."""

    type: str
    content: Any = None
    final_response: Any = None
    cancelled: Any = False
    turn_id: Any = None
    request_id: Any = None
    approval_id: Any = None
    confirmed: Any = None
    error: Any = None
    code: Any = None
    client_message_id: Any = None
    message_id: Any = None
    steers: Any = None
    created_by: Any = UNSET
    changed_by: Any = UNSET
    settled_by: Any = msgspec.field(name="reason", default=None)

    @property
    def is_ours(self) -> bool:
        """Whether it is no machine's to say: who else made a session or changed its work is not,
        either."""
        is_of_others = self.created_by is not UNSET or self.changed_by is not UNSET
        return self.type in OURS or (self.type == _STATUS and is_of_others)

    @property
    def text(self) -> str | None:
        """The final answer, under either of its names."""
        return _text(self.final_response) or _text(self.content)

    @property
    def said(self) -> str | None:
        """What a `user_message` says."""
        return _text(self.content)

    @property
    def client_message(self) -> str | None:
        return _text(self.client_message_id)

    @property
    def message(self) -> str | None:
        """The id of a message to a running turn."""
        return _text(self.message_id)

    @property
    def steered(self) -> str | None:
        """The turn that such a message is for."""
        return _text(self.steers)

    @property
    def turn(self) -> str | None:
        return _text(self.turn_id)

    @property
    def problem(self) -> str | None:
        """What went wrong, for people."""
        return _text(self.error)

    @property
    def reason(self) -> str | None:
        """The code of an `execution_error`."""
        return _text(self.code)

    @property
    def request(self) -> str | None:
        """The machine's id of a question, under either of its names."""
        return _text(self.request_id) or _text(self.approval_id)


def _text(value: Any) -> str | None:
    """Text that every database takes: no NUL, no half of a character."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", "replace").decode().replace("\x00", "")


_watched = msgspec.json.Decoder(Watched)
_pairs = json.JSONDecoder(object_pairs_hook=list)
"""An object as the pairs that it was written with."""
_encoder = msgspec.json.Encoder()


def may_matter(line: str) -> bool:
    """Whether it has to be looked at: a word in the text is enough for that."""
    if line.startswith(STREAMED) and line.find(*ANOTHER_TYPE) < 0 and ESCAPED not in line:
        return False
    return any(word in line for word in _WORDS)


def look(line: str) -> Watched | None:
    """The event, if it is one that a record depends on. Text inside other events is none."""
    try:
        return examine(line)
    except Malformed:
        return None


def examine(line: str) -> Watched | None:
    """As `look`, for what a machine says. An event of whose type two readers may think differently
    is `Malformed`: it has two, or is nested too deep or written too oddly for us and perhaps not
    for others."""
    if line.count(_TYPE) > 1 or _HIDDEN_LETTER.search(line):
        _check_one_type(line)
    try:
        event = _watched.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        found = _look_closely(line)
        if found is None:
            return None
        event = found
    return event if event.type in _WATCHED or event.is_ours else None


def _look_closely(line: str) -> Watched | None:
    """Python's own decoder takes half of a character, which a cut-off answer may end with."""
    value = _decoded(line, json.loads)
    try:
        return msgspec.convert(value, Watched)
    except msgspec.ValidationError:
        return None  # it has no type that anybody could read


def _check_one_type(line: str) -> None:
    pairs = _decoded(line, _pairs.decode)
    names = [pair[0] for pair in pairs if isinstance(pair, tuple)] if type(pairs) is list else []
    if names.count("type") > 1:
        raise Malformed("an event with two types")


def _decoded(line: str, decode: Callable[[str], Any]) -> Any:
    try:
        return decode(line)
    except (ValueError, RecursionError) as error:
        if _HIDDEN_LETTER.search(line) or any(word in line for word in _OUR_WORDS):
            raise Malformed(f"an event that cannot be read: {str(error)[:200]}") from error
        return None  # whatever it is, nobody takes it for ours


def to_text(data: dict[str, Any]) -> str:
    """An event that came as an object, in the form that all others have."""
    return _encoder.encode(data).decode()


def make(event_type: str, ts: int, **fields: Any) -> str:
    """An event of the control plane's own."""
    return _encoder.encode({"type": event_type, "ts": ts, **fields}).decode()


def without_a_person(event: Watched, ts: int) -> str:
    """A machine's `approval_resolved`: that a question is settled there, and nobody's answer."""
    settled: dict[str, Any] = {"request_id": event.request, "confirmed": bool(event.confirmed)}
    reason = _text(event.settled_by)
    if reason is not None:
        settled["reason"] = reason[: limits.NAME_CHARS_MAX]
    if event.turn is not None:
        settled["turn_id"] = event.turn
    return make(event.type, ts, **settled)


def object_of(line: str) -> dict[str, Any]:
    """An event as an object; what is not one is `Malformed`."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed(str(error)) from error
