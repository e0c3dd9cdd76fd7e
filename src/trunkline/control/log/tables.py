"""What the journal and the segments need of a database. Each call is one transaction.

Nothing is decided here: the same `Journal` runs over SQLite, over PostgreSQL and, in the
simulation, over tables in memory.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from trunkline.control.log.packing import JournalRow, NotesRow, SegmentRow
from trunkline.control.log.store import Head, Stored

TAIL_ROWS = 8
"""Of a session's last segments: it is seldom that a fold takes in more than two."""


class Tail(NamedTuple):
    """How a session's log ends in the tables."""

    head: Head | None
    segments: list[SegmentRow]
    """The last ones, the newest first; what is too large to be taken in need not be there."""
    notes: list[NotesRow]


class Fold(NamedTuple):
    """What a fold changes of one session."""

    session_id: str
    head: Head
    gone: list[int]
    """The segments that it replaces, by their last ids."""
    segments: list[SegmentRow]
    gone_notes: list[int]
    notes: list[NotesRow]


class Tables(Protocol):
    async def claim(self, at_least: int) -> int:
        """From here on nobody else writes, neither late nor again: whoever does later what changes
        something is Overtaken. What others began before is done. Returns the epoch: that one, or
        more than the last."""

    async def append(self, rows: list[JournalRow], *, again: bool) -> None:
        """`again`: they may be there already, and then stay."""

    async def journal(self, after: int) -> list[JournalRow]:
        """The next rows behind that number; none only at the end."""

    async def fold(self, folds: list[Fold]) -> None: ...

    async def forget(self, upto: int) -> None:
        """The journal's rows up to that number."""

    async def heads(self, session_ids: list[str]) -> dict[str, Head]: ...

    async def tails(self, session_ids: list[str], lines_bytes_max: int) -> dict[str, Tail]:
        """Of each of them, with segments that have fewer bytes of lines."""

    async def segments(self, session_id: str, after: int, count: int) -> list[SegmentRow]:
        """Those that end behind that id, in order."""

    async def segments_back(self, session_id: str, before: int, count: int) -> list[SegmentRow]:
        """Those that begin before that id, the newest first."""

    async def notes(self, session_id: str, after: int, count: int) -> list[NotesRow]:
        """Those that end behind that number, in order."""

    async def delete(self, session_id: str, row: JournalRow) -> None:
        """All of a session, and that it is deleted into the journal."""

    async def cut(self, session_id: str, upto: int, rest: SegmentRow | None) -> int | None:
        """All segments and notes that end there. `rest` takes the place of the one with the same
        end. Returns where the log begins then, if there is one."""

    async def skip(self, gap: int, session_ids: list[str]) -> None: ...

    async def sizes(self, session_ids: list[str] | None) -> dict[str, int]: ...

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        """The oldest segments, each with the notes that go with it."""

    async def close(self) -> None: ...


def with_notes(rows: list[Stored], notes: Iterable[tuple[int, int]]) -> list[Stored]:
    """Segments with what the notes take that are cut off with them. Both are in order; of a note,
    the event that it stands behind, and its size."""
    sizes = [one.bytes for one in rows]
    place = 0
    for after_id, size in notes:
        while place < len(rows) and rows[place].last_id < after_id:
            place += 1
        if place == len(rows):
            break
        sizes[place] += size
    return [one._replace(bytes=size) for one, size in zip(rows, sizes, strict=True)]
