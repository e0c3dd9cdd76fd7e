"""What the journal holds of a session, made into segments of a useful size. Pure.

Small segments at the log's end are taken in, while they are smaller than twice what comes: so an
event is written anew a few times at most, however slowly its session talks.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import structlog

from trunkline.control.log.packing import (
    Damaged,
    Entry,
    NotesRow,
    Runs,
    SegmentRow,
    clean,
    logged,
    notes_of,
    pack_notes,
    pack_segment,
    runs_of,
    text_of,
)
from trunkline.control.log.store import Head, Logged
from trunkline.control.log.tables import Fold, Tail

_log = structlog.get_logger(__name__)

SEGMENT_BYTES_MAX = 64 * 1024
"""Of lines, about. One event may be larger, and is a segment of its own then."""
LINES_BYTES_USEFUL = 8 * 1024
"""A segment of so many is not taken in any more."""
_NOTES_BYTES_MAX = 8 * 1024
_GROWTH = 2


def fold(session_id: str, entries: Sequence[Entry], tail: Tail) -> Fold:
    """`entries` may begin with some that are folded already: what has a number that the tables
    have is left out."""
    head = tail.head or Head(0, None, first_id=entries[0].first_id)
    events = _Events()
    events.add_all(entries, head.last_id)
    gone = events.take_in(session_id, tail.segments)
    notes = list(_notes(entries, head.note))
    gone_notes, notes = _with_earlier(session_id, notes, tail.notes)
    segments, packs = events.segments(), list(_packs(notes))
    stored = sum(len(one.body) for one in segments) + sum(one.stored_bytes for one in packs)
    stored -= sum(len(one.body) for one in tail.segments[: len(gone)])
    stored -= sum(one.stored_bytes for one in tail.notes[: len(gone_notes)])
    is_first = head.first_id > head.last_id and segments
    new = Head(
        segments[-1].last_id if segments else head.last_id,
        entries[-1].machine_seq,
        notes[-1].note if notes else head.note,
        segments[0].first_id if is_first else head.first_id,
        head.bytes + stored,
    )
    return Fold(session_id, new, gone, segments, gone_notes, packs)


def trimmed(entries: Sequence[Entry], head: Head) -> Sequence[Entry]:
    """Without those that are folded. They are folded in their order; of one that only says which
    number a machine has reached, it cannot be seen, but the last of them is right."""
    folded = 0
    for place, one in enumerate(entries, 1):
        if one.last_id > head.last_id or any(row.number > head.note for row in one.notes):
            break
        if one.body is not None or one.notes:
            folded = place
    return entries[folded:]


def behind(session_id: str, upto: int, rows: Sequence[SegmentRow]) -> SegmentRow | None:
    """Of the first segment that ends behind that id, the events behind it, if it has others; what
    cannot be read stays whole."""
    if not rows or rows[0].first_id > upto:
        return None
    try:
        events = [one for one in logged(session_id, rows[0]) if one.event_id > upto]
    except Damaged:
        _log.exception("what was stored before cannot be read", session=session_id)
        return None
    runs = [(len(list(some)), at) for at, some in groupby(one.at for one in events)]
    return pack_segment(upto + 1, "\n".join(one.text for one in events), runs)


class _Piece:
    """Events with consecutive ids, for one segment."""

    def __init__(self, first_id: int) -> None:
        self.first_id = first_id
        self.bodies: list[str] = []
        self.runs: Runs = []


class _Events:
    def __init__(self) -> None:
        self._pieces: list[_Piece] = []

    def add_all(self, entries: Iterable[Entry], after: int) -> None:
        """Most of a fold's time is spent here, so the usual case is written out."""
        piece = _Piece(0)
        next_id, room, last_at = 0, 0, -1
        for one in entries:
            body, first_id, at = one.body, one.first_id, one.at
            if body is None:
                continue
            count = body.count("\n") + 1
            if first_id == next_id and len(body) <= room:
                piece.bodies.append(body)
                if at == last_at:
                    piece.runs[-1] = piece.runs[-1][0] + count, at
                else:
                    piece.runs.append((count, at))
                    last_at = at
                room -= len(body) + 1
                next_id += count
            elif first_id + count - 1 > after:
                for part, many in _parts(body.split("\n")[max(0, after + 1 - first_id) :]):
                    piece = _Piece(max(first_id, after + 1))
                    piece.bodies.append(part)
                    piece.runs.append((many, at))
                    self._pieces.append(piece)
                    next_id = piece.first_id + many
                    after, room, last_at = next_id - 1, SEGMENT_BYTES_MAX - len(part) - 1, at
            after = max(after, next_id - 1)

    def take_in(self, session_id: str, rows: Sequence[SegmentRow]) -> list[int]:
        """The last segments, as far as they are to become part of the next; their last ids."""
        gone: list[int] = []
        if not self._pieces:
            return gone
        first = self._pieces[0]
        here = sum(map(len, first.bodies)) + len(first.bodies)
        for row in rows:
            size = row.lines_bytes
            if (
                row.last_id + 1 != first.first_id
                or size >= LINES_BYTES_USEFUL
                or size > here * _GROWTH
                or size + here > SEGMENT_BYTES_MAX
            ):
                break
            gone.append(row.last_id)
            first.bodies.insert(0, text_of(session_id, row))
            first.runs[:0] = runs_of(session_id, row)
            first.first_id = row.first_id
            here += size + 1
        return gone

    def segments(self) -> list[SegmentRow]:
        return [pack_segment(one.first_id, "\n".join(one.bodies), one.runs) for one in self._pieces]


def _parts(lines: list[str]) -> Iterator[tuple[str, int]]:
    """Lines that are too many for a segment, joined as far as they are not."""
    start = size = 0
    for place, line in enumerate(lines):
        if place > start and size + len(line) >= SEGMENT_BYTES_MAX:
            yield "\n".join(lines[start:place]), place - start
            start, size = place, 0
        size += len(line) + 1
    yield "\n".join(lines[start:]), len(lines) - start


def _notes(entries: Iterable[Entry], after: int) -> Iterator[Logged]:
    for one in entries:
        for note in one.notes:
            if note.number > after:
                yield Logged(note.after_id, note.number, one.at, clean(note.body))
                after = note.number


def _with_earlier(
    session_id: str, notes: list[Logged], rows: Sequence[NotesRow]
) -> tuple[list[int], list[Logged]]:
    """With those of the last packs that are to become part of the next; the packs' numbers."""
    gone: list[int] = []
    size = sum(len(one.text) for one in notes)
    for row in rows if notes else ():
        if row.stored_bytes > size * _GROWTH:
            break
        earlier = notes_of(session_id, row)
        more = sum(len(one.text) for one in earlier)
        if more > size * _GROWTH or size + more > _NOTES_BYTES_MAX:
            break
        gone.append(row.number)
        size, notes = size + more, [*earlier, *notes]
    return gone, notes


def _packs(notes: Iterable[Logged]) -> Iterator[NotesRow]:
    some: list[Logged] = []
    size = 0
    for one in notes:
        if some and size + len(one.text) > _NOTES_BYTES_MAX:
            yield pack_notes(some)
            some, size = [], 0
        some.append(one)
        size += len(one.text)
    if some:
        yield pack_notes(some)
