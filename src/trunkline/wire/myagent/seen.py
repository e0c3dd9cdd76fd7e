"""What a client says it has got: a number, or an event id, which names the connection too."""

from typing import Any, NamedTuple

from trunkline.wire.errors import Malformed
from trunkline.wire.myagent.messages import Uplink


class Seen(NamedTuple):
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
