"""What a machine of another make says that no document knows: counted, and otherwise left alone.

Each look reads the text once more, so pieces of text are not looked at, and nothing that is large.
"""

from typing import Any

import msgspec

from trunkline.control.log import events
from trunkline.control.surprises import LOOKED_AT_CHARS_MAX, Surprises
from trunkline.wire.errors import UNREADABLE
from trunkline.wire.event_types import EVENTS, type_of
from trunkline.wire.semibot.messages import SseEvent, Uplink

_WIRE = "semibot"
_OF_ALL = frozenset(("type", "timestamp"))  # the fields of every message
_TYPES = frozenset(map(type_of, EVENTS))


class _Typed(msgspec.Struct):
    type: Any = None


_typed = msgspec.json.Decoder(_Typed)


class Unknown:
    def __init__(self, surprises: Surprises) -> None:
        self._surprises = surprises

    def message(self, name: str) -> None:
        self._surprises.saw(_WIRE, f"message {name}")

    def method(self, name: str) -> None:
        self._surprises.saw(_WIRE, f"method {name}")

    def fields(self, message: Uplink, text: str) -> None:
        known = _OF_ALL.union(message.__struct_encode_fields__)
        self._surprises.saw_fields(_WIRE, text, known)

    def event(self, event: SseEvent, text: str) -> None:
        """The envelope's fields and the event's type. Fields of events are anybody's."""
        data = event.data
        if isinstance(data, str) and data.startswith(events.STREAMED):
            return
        if len(text) > LOOKED_AT_CHARS_MAX:
            return
        self.fields(event, text)
        kind = _type_of(data)
        if kind is not None and kind not in _TYPES:
            self._surprises.saw(_WIRE, f"event {kind}")


def _type_of(data: str | dict[str, Any]) -> str | None:
    try:
        kind = data.get("type") if isinstance(data, dict) else _typed.decode(data).type
    except UNREADABLE:
        return None
    return kind if isinstance(kind, str) else None
