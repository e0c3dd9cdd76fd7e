"""One session's log as it is in memory, and what its readers are handed."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from trunkline import limits
from trunkline.control.log.store import Head, NoteRow, Segment
from trunkline.wire import sse

Committed = Callable[[int], None]
"""Called behind a commit, with its time (Unix ms)."""


class Batch:
    """Consecutive events of one session, just committed. Encoded once for all its readers."""

    __slots__ = ("_named", "_sse", "first_id", "lines")

    def __init__(self, first_id: int, lines: list[str]) -> None:
        self.first_id = first_id
        self.lines = lines
        self._sse: bytes | None = None
        self._named: bytes | None = None

    @property
    def sse(self) -> bytes:
        if self._sse is None:
            self._sse = sse.frames(self.first_id, self.lines)
        return self._sse

    def named(self, session_id: str) -> bytes:
        """For readers of several sessions at once."""
        if self._named is None:
            self._named = sse.frames(self.first_id, self.lines, f"{session_id}:")
        return self._named


class Reader(Protocol):
    """Something that follows a session live. Neither method may raise or wait."""

    def deliver(self, batch: Batch) -> None: ...

    def resync(self) -> None: ...


class SessionLog:
    """One session's log in memory: its tail, what waits for the disk, and who follows it."""

    __slots__ = (
        "__weakref__",
        "committing",
        "first_id",
        "idle_at",
        "is_awaited",
        "last_id",
        "last_note",
        "machine_seq",
        "notes",
        "on_safe",
        "pending",
        "readers",
        "reads",
        "ring",
        "safe_seq",
        "session_id",
        "tail_id",
        "waiting",
    )

    def __init__(self, session_id: str, head: Head) -> None:
        self.session_id = session_id
        self.first_id = head.first_id  # the oldest event that is kept
        self.last_id = head.last_id  # the newest event that is committed and delivered
        self.tail_id = head.last_id  # the newest event that was handed to the disk
        self.machine_seq = head.machine_seq  # the machine's number of its newest event we took
        self.safe_seq = head.machine_seq  # the same, of what is committed
        self.pending: list[str] = []  # events that are not handed to the disk yet
        self.last_note = head.note  # the number of the newest note
        self.notes: list[NoteRow] = []  # notes that are not handed to the disk yet
        self.waiting: list[Committed] = []  # called when what is pending now is committed
        self.committing: list[Committed] | None = None  # the same, of what is being written
        self.is_awaited = False  # a turn's first event is to be looked at
        self.ring: deque[str] = deque(maxlen=limits.RING_EVENTS)
        self.readers: tuple[Reader, ...] = ()
        self.reads = 0  # under way, page by page: nothing is cut meanwhile
        self.idle_at = -1  # the last id when `tidy` last came by
        self.on_safe: Callable[[str, int], None] | None = None  # acknowledges to the machine

    def numbered(self, seq: int) -> None:
        """The newest event that was taken of the machine has that number, by the machine's own
        count."""
        self.machine_seq = seq

    def after(self, position: int) -> list[str] | None:
        """The committed events after that position, if memory holds them all."""
        missing = self.last_id - position
        if missing == 0:
            return []
        if missing > len(self.ring):
            return None
        return list(self.ring)[-missing:]

    def segment(self, at: int) -> Segment:
        """Everything that is pending, for the disk."""
        lines, self.pending = self.pending, []
        body = lines[0] if len(lines) == 1 else "\n".join(lines)
        if "\r" in body or body.count("\n") > max(0, len(lines) - 1):
            # An event is one line. In JSON a raw line break can only be space between tokens.
            lines = [line.replace("\r", " ").replace("\n", " ") for line in lines]
            body = "\n".join(lines)
        first_id = self.tail_id + 1
        self.tail_id += len(lines)
        self.committing, self.waiting = self.waiting, []
        notes: Sequence[NoteRow] = ()
        if self.notes:
            notes, self.notes = self.notes, []
        return Segment(self.session_id, first_id, lines, body, at, self.machine_seq, notes)

    def begins_with(self, first_id: int) -> None:
        """What is before that event is no longer kept."""
        self.first_id = first_id
        while self.ring and self.last_id - len(self.ring) + 1 < first_id:
            self.ring.popleft()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """While it is read page by page: nothing of it is cut."""
        self.reads += 1
        try:
            yield
        finally:
            self.reads -= 1

    def attach(self, reader: Reader) -> None:
        self.readers = (*self.readers, reader)

    def detach(self, reader: Reader) -> None:
        self.readers = tuple(one for one in self.readers if one is not reader)
