"""Where the log rests: what it asks of its engine, and the rows that go to and fro.

A note is a fact that readers are not shown: it is committed with the events around it, numbered on
its own, and says behind which event it stands.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec


class Head(NamedTuple):
    """Where a session's log ends, and where it begins."""

    last_id: int
    machine_seq: int | None
    note: int = 0
    """The number of the newest note."""
    first_id: int = 1
    """Of the oldest event that is kept; behind `last_id` where there is none."""
    bytes: int = 0
    """That it takes in the store."""


class Logged(NamedTuple):
    """One committed entry of a session's log, an event or a note."""

    event_id: int
    """Of a note: of the event that it stands behind."""
    note: int
    """The note's number; 0 for an event."""
    at: int
    text: str


class Stored(NamedTuple):
    """Events that are kept together, as much of them as is known without reading them."""

    first_id: int
    last_id: int
    at: int
    """Of the newest."""
    bytes: int


class NoteRow(NamedTuple):
    number: int
    after_id: int
    body: str


class Segment(msgspec.Struct, gc=False):
    """Consecutive events of one session and the notes among them, as they are committed. Without
    events, the machine's number is all that is new of them."""

    session_id: str
    first_id: int
    lines: list[str]
    body: str  # the same, joined
    at: int
    machine_seq: int | None
    notes: Sequence[NoteRow] = ()


class SegmentStore(Protocol):
    """What the log needs of its engine. The ids of a session grow; they may have gaps."""

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        """All or nothing, durable when it returns.

        `again`: tried before, and it is not known how that ended; what is there already stays.
        """

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        """Of those that have a log."""

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Up to `limit` events with their ids, in order; fewer where they are large, none only
        where there are none."""

    async def read_back(self, session_id: str, before: int, limit: int) -> list[tuple[int, str]]:
        """The newest events with an id below that one, in order; fewer where they are large, none
        only where there are none."""

    async def entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        """The next events and notes behind these positions, in the order in which they were
        written; not all of them, but none only where there are none."""

    async def cut(self, session_id: str, upto: int) -> int:
        """Lets go of the oldest events up to that id, and of notes behind them; returns the id that
        the log begins with then."""

    async def skip(self, gap: int, session_ids: list[str] | None = None) -> None:
        """After a restore: every log goes on that far behind its end, and so do those of these
        sessions that have none yet."""

    async def delete(self, session_id: str) -> None:
        """For good."""

    async def sizes(self, session_ids: list[str] | None = None) -> dict[str, int]:
        """What each log takes in the store, in bytes; None: of all."""

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        """The oldest rows, in order, up to any of which the log can be cut."""

    async def fold(self, *, all: bool = False) -> None:  # noqa: A002
        """Brings what was committed into the form in which it is kept, as far as that is due;
        `all`: now, and all of it."""

    async def close(self) -> None: ...
