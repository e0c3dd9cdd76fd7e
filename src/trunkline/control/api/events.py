"""Logged events as JSON: the stored text goes into the answer as it is, without being built up."""

from collections.abc import Iterable

import msgspec

from trunkline.control.sessions.records import LoggedEvent


class ReadEvent(msgspec.Struct, frozen=True):
    """An event with its place in the log."""

    id: int
    event: msgspec.Raw


class EventPage(msgspec.Struct, kw_only=True):
    """Events in order. `next_after` is the next page's `after`; null when there is no more."""

    items: list[ReadEvent]
    next_after: int | None = None


def read_events(events: Iterable[LoggedEvent]) -> list[ReadEvent]:
    return [ReadEvent(event.id, _raw(event.data)) for event in events]


def _raw(text: str) -> msgspec.Raw:
    """The text itself if it is JSON; else as a JSON string, for a machine may log anything."""
    data = text.encode(errors="replace")
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return msgspec.Raw(msgspec.json.encode(data.decode()))
    return msgspec.Raw(data)
