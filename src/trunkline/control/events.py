"""The control plane's own view of session events (CONTRACT §6).

Most events pass unread. The few that change a record are recognised by words in the text (the
VM edge looks for `"execution_` and `"approval_`) and only then decoded here.
"""

from typing import Any

import msgspec

from trunkline.wire.errors import Malformed

TERMINAL = ("execution_complete", "execution_error")


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

    @property
    def text(self) -> str | None:
        """The final answer, under either of its names."""
        return _text(self.final_response) or _text(self.content)

    @property
    def turn(self) -> str | None:
        return _text(self.turn_id)

    @property
    def request(self) -> str | None:
        """The machine's id of a question, under either of its names."""
        return _text(self.request_id) or _text(self.approval_id)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


_watched = msgspec.json.Decoder(Watched)
_encoder = msgspec.json.Encoder()


def look(line: str) -> Watched | None:
    """The event, if it is one that a record depends on. Text inside other events is none."""
    try:
        event = _watched.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if event.type in TERMINAL or event.type in ("approval_request", "approval_resolved"):
        return event
    return None


def to_text(data: dict[str, Any]) -> str:
    """An event that came as an object, in the form that all others have."""
    return _encoder.encode(data).decode()


def make(event_type: str, ts: int, **fields: Any) -> str:
    """An event of the control plane's own."""
    return _encoder.encode({"type": event_type, "ts": ts, **fields}).decode()


def object_of(line: str) -> dict[str, Any]:
    """An event as an object; what is not one is `Malformed`."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed(str(error)) from error
