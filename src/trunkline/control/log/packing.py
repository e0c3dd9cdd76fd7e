"""The forms in which events and notes are kept: rows of the journal, segments and packs of notes.

Pure. What cannot be read is `Damaged`, which says where; nothing is guessed.
"""

import threading
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

import msgspec
import zstandard

from trunkline import limits
from trunkline.control.errors import Unavailable
from trunkline.control.log.store import Logged, NoteRow

ZSTD = 1
"""The codec of a segment's body; none: plain lines."""
Runs = list[tuple[int, int]]
"""Of events in their order: how many are of which time."""
_COMPRESS_FROM_BYTES = 128
_COMPRESS_ROW_FROM_BYTES = 2_048
_LEVEL = 1
_MAGIC = zstandard.FRAME_HEADER
_UNPACKED_BYTES_MAX = 256 * limits.MIB  # no frame may ask for more


class Damaged(Unavailable):
    """Something in the store that Trunkline did not write so."""

    def __init__(self, what: str, why: object) -> None:
        super().__init__(f"the log is damaged: {what} cannot be read ({why})", code="LOG_DAMAGED")


class Entry(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """What one commit says of one session. Never part of a cycle, and there are many."""

    session_id: str
    first_id: int
    """0: the session was deleted, and what stands before is not to come back."""
    at: int
    machine_seq: int | None
    body: str | None
    """Its events, one a line; None: there are none."""
    notes: Sequence[NoteRow] = ()

    @property
    def last_id(self) -> int:
        return self.first_id - 1 if self.body is None else self.first_id + self.body.count("\n")

    @property
    def size(self) -> int:
        return len(self.body or "") + sum(len(one.body) for one in self.notes)


class JournalRow(NamedTuple):
    """One commit, or a part of a large one."""

    seq: int
    at: int
    body: bytes


class SegmentRow(NamedTuple):
    """Consecutive events of one session."""

    last_id: int
    first_id: int
    at: int
    """Of the newest."""
    body: bytes
    codec: int | None
    times: bytes | None
    """Runs of events of one time, where there are several."""
    size: int | None
    """Of the lines; None: as long as the body."""

    @property
    def lines_bytes(self) -> int:
        return len(self.body) if self.size is None else self.size


class NotesRow(NamedTuple):
    """Notes of one session: one, or a pack whose last one gives number, place and time."""

    number: int
    after_id: int
    at: int
    body: str
    packed: bytes | None

    @property
    def stored_bytes(self) -> int:
        return len(self.body if self.packed is None else self.packed)


class _Note(msgspec.Struct, array_like=True, gc=False):
    number: int
    after_id: int
    at: int
    body: str


_encoder = msgspec.msgpack.Encoder()
_entries = msgspec.msgpack.Decoder(list[Entry])
_runs = msgspec.msgpack.Decoder(list[int])
_notes = msgspec.msgpack.Decoder(list[_Note])
_BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, zstandard.ZstdError, MemoryError)


def pack_row(entries: Sequence[Entry]) -> tuple[bytes, int]:
    """The body of a row, and how long it is unpacked."""
    raw = _encoder.encode(entries)
    return raw if len(raw) < _COMPRESS_ROW_FROM_BYTES else _compressed(raw), len(raw)


def unpack_row(row: JournalRow) -> tuple[list[Entry], int]:
    try:
        raw = bytes(row.body)
        if raw.startswith(_MAGIC):
            raw = _decompressed(raw)
        found = _entries.decode(raw)
        if any(one.first_id < 0 or one.at < 0 for one in found):
            raise msgspec.ValidationError("a negative number")
    except _BROKEN as error:
        raise Damaged(f"row {row.seq} of the journal", error) from error
    return found, len(raw)


def pack_segment(first_id: int, text: str, runs: Runs) -> SegmentRow:
    raw = text.encode("utf-8", "replace")
    packed = _compressed(raw) if len(raw) >= _COMPRESS_FROM_BYTES else raw
    is_smaller = len(packed) < len(raw)
    return SegmentRow(
        first_id + sum(count for count, _ in runs) - 1,
        first_id,
        runs[-1][1],
        packed if is_smaller else raw,
        ZSTD if is_smaller else None,
        _pack_runs(runs) if len(runs) > 1 else None,
        len(raw) if is_smaller else None,
    )


def packed_bytes(text: str) -> int:
    """How long a segment of these lines is."""
    return len(pack_segment(1, text, [(1, 0)]).body)


def text_of(session_id: str, row: SegmentRow) -> str:
    """A segment's events, one a line."""
    try:
        if row.codec is None:
            return bytes(row.body).decode()
        if row.codec != ZSTD:
            raise msgspec.ValidationError(f"codec {row.codec}")
        return _decompressed(bytes(row.body)).decode()
    except _BROKEN as error:
        raise _damaged(session_id, row, error) from error


def runs_of(session_id: str, row: SegmentRow) -> Runs:
    count = row.last_id - row.first_id + 1
    if row.times is None:
        return [(count, row.at)]
    try:
        numbers = _runs.decode(bytes(row.times))
    except _BROKEN as error:
        raise _damaged(session_id, row, error) from error
    runs: Runs = []
    at = 0
    for many, later in zip(numbers[::2], numbers[1::2], strict=False):
        at += later
        runs.append((many, at))
    if sum(many for many, _ in runs) != count or any(many < 1 for many, _ in runs):
        raise _damaged(session_id, row, "its times are of other events")
    return runs


def logged(session_id: str, row: SegmentRow) -> list[Logged]:
    """The events of a segment with their times."""
    lines, runs = text_of(session_id, row).split("\n"), runs_of(session_id, row)
    if len(lines) != row.last_id - row.first_id + 1:
        raise _damaged(session_id, row, f"it has {len(lines)} events")
    times = (at for many, at in runs for at in repeat(at, many))
    numbered = zip(range(row.first_id, row.last_id + 1), times, lines, strict=True)
    return [Logged(number, 0, at, line) for number, at, line in numbered]


def pack_notes(notes: Sequence[Logged]) -> NotesRow:
    last = notes[-1]
    if len(notes) == 1 and len(last.text) < _COMPRESS_FROM_BYTES:
        return NotesRow(last.note, last.event_id, last.at, last.text, None)
    raw = _encoder.encode([_Note(one.note, one.event_id, one.at, one.text) for one in notes])
    return NotesRow(last.note, last.event_id, last.at, "", _compressed(raw))


def notes_of(session_id: str, row: NotesRow) -> list[Logged]:
    if row.packed is None:
        return [Logged(row.after_id, row.number, row.at, row.body)]
    try:
        found = _notes.decode(_decompressed(bytes(row.packed)))
    except _BROKEN as error:
        what = f"the notes of session {session_id} up to {row.number}"
        raise Damaged(what, error) from error
    return [Logged(one.after_id, one.number, one.at, one.body) for one in found]


def clean(text: str) -> str:
    """Text that can be written: half of a character becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _damaged(session_id: str, row: SegmentRow, why: object) -> Damaged:
    return Damaged(f"events {row.first_id} to {row.last_id} of session {session_id}", why)


def _pack_runs(runs: Runs) -> bytes:
    """Small numbers: each time as what it is later than the one before."""
    flat: list[int] = []
    before = 0
    for many, at in runs:
        flat += (many, at - before)
        before = at
    return _encoder.encode(flat)


class _Contexts(threading.local):
    """Of zstd; they serve one thread each, and take longer to make than to use."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def _compressed(raw: bytes) -> bytes:
    return _contexts.compressor.compress(raw)


def _decompressed(packed: bytes) -> bytes:
    size = zstandard.frame_content_size(packed)
    if not 0 <= size <= _UNPACKED_BYTES_MAX:
        raise zstandard.ZstdError(f"a frame of {size} bytes")
    return _contexts.decompressor.decompress(packed)
