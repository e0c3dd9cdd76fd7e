"""Queues that outlive this process: in memory, and in a file of lines.

A file is only ever appended to, or replaced as a whole, by plain writes without fsync: what was
appended survives this process, however it dies. A line that was cut short is skipped by its reader.
"""

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import structlog

from trunkline import limits
from trunkline.execution.files import write_atomic
from trunkline.wire.errors import UNREADABLE

_log = structlog.get_logger(__name__)

SHRINK_TO = 0.75
"""Of a bound: room is made for a while, not for one entry."""
_SKIPS_MAX = 64

T = TypeVar("T")

Lines = Callable[[], Iterable[bytes]]
"""All that a file ought to have."""


class Journal:
    """One file. It exists once something was appended.

    What is appended is in memory too, so a full disk costs durability and nothing else: the file
    then stays as it is, without gaps, and falls behind. With room again it is written anew from
    `whole`: the lines that it ought to have, by whoever holds them.
    """

    __slots__ = ("_fd", "_is_torn", "_path", "_skip", "_skips", "bytes", "is_behind")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._is_torn = False
        self._skip = self._skips = 0
        self.is_behind = False
        """Something is in memory alone."""
        self.bytes = 0

    def read(self) -> list[bytes]:
        """Every line, the last one too if it was cut short."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            _log.error("the outbox cannot be read", file=self._path.name, problem=str(error))
            return []
        self.bytes = len(data)
        self._is_torn = bool(data) and not data.endswith(b"\n")
        return [line for line in data.split(b"\n") if line]

    def entries(self, decode: Callable[[bytes], T]) -> Iterator[tuple[T, int]]:
        """What `decode` makes of each line, and the line's size; one that it cannot read is
        skipped."""
        for line in self.read():
            try:
                entry = decode(line)
            except UNREADABLE:
                _log.warning("a line of the outbox is unreadable", file=self._path.name)
            else:
                yield entry, len(line)

    def append(self, line: bytes) -> None:
        if self.is_behind:
            return
        whole = (b"\n" if self._is_torn else b"") + line + b"\n"
        try:
            written = os.write(self._open(), whole)
        except OSError as error:
            self._fell_behind(str(error))
            return
        self.bytes += written
        self._is_torn = written < len(whole)
        if self._is_torn:
            self._fell_behind("only a part of a line found room")

    def mark(self, line: bytes) -> None:
        """As `append`, for what was delivered and must not be sent again. Where that cannot be
        written, nothing may stay that says otherwise."""
        self.append(line)
        if self.is_behind:
            self._empty()

    def catch_up(self, whole: Lines) -> None:
        """Before `whole` grows by what is appended then. Not tried with every line: on a full disk
        that would be a lot of work for nothing."""
        if self.is_behind:
            self._skips -= 1
            if self._skips < 0:
                self._skip = self._skips = min(2 * self._skip + 1, _SKIPS_MAX)
                self.rewrite(whole())

    def settle(self, whole: Lines) -> None:
        """Now and then, when nothing comes: with room again, the file has everything."""
        self._skips = 0
        self.catch_up(whole)

    def _fell_behind(self, problem: str) -> None:
        _log.error("the outbox cannot be written", file=self._path.name, problem=problem)
        self.is_behind = True
        self._skip = self._skips = 0

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Puts these lines in the place of all others, at once or not at all."""
        data = b"".join(line + b"\n" for line in lines)
        try:
            write_atomic(self._path, data)
        except OSError as error:
            if not self.is_behind:
                _log.error("the outbox cannot be tidied", file=self._path.name, problem=str(error))
            return
        self.close()
        self.bytes, self._is_torn = len(data), False
        self._is_whole()

    def clear(self) -> None:
        """Nothing of it is needed any more; more may come."""
        if not self.bytes or self._empty():
            self._is_whole()

    def _empty(self) -> bool:
        try:
            os.ftruncate(self._open(), 0)
        except OSError as error:
            _log.error("the outbox cannot be cleared", file=self._path.name, problem=str(error))
            return False
        self.close()
        self.bytes, self._is_torn = 0, False
        return True

    def _is_whole(self) -> None:
        if self.is_behind:
            _log.warning("the outbox is written again", file=self._path.name)
        self.is_behind = False

    def remove(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self.bytes, self._is_torn, self.is_behind = 0, False, False

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o600)
        return self._fd


class Entry(Protocol):
    """What a queue holds."""

    @property
    def seq(self) -> int: ...

    @property
    def size(self) -> int:
        """In bytes."""

    @property
    def is_kept(self) -> bool:
        """Somebody waits for it: it is never dropped."""


E = TypeVar("E", bound=Entry)


class Amount:
    """How many, and how large together."""

    __slots__ = ("bytes", "count")

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0


class DiskQueue(Generic[E]):
    """Entries in the order of their numbers: waiting, then sent, gone when acknowledged.

    What is written to the file for an entry, and for an acknowledgement, is the caller's.
    """

    def __init__(self, journal: Journal, encode: Callable[[E], bytes]) -> None:
        self.journal = journal
        self._lines: Lines = lambda: map(encode, self)
        self.waiting: deque[E] = deque()
        self.sent: deque[E] = deque()
        self.last = 0
        """The highest number that was given."""
        self.kept = Amount()
        self.loose = Amount()
        """Those that may be dropped."""

    @property
    def bytes(self) -> int:
        return self.kept.bytes + self.loose.bytes

    @property
    def is_empty(self) -> bool:
        return not self.waiting and not self.sent

    def __len__(self) -> int:
        return self.kept.count + self.loose.count

    def __iter__(self) -> Iterator[E]:
        return chain(self.sent, self.waiting)

    def put(self, entry: E) -> None:
        self.last = max(self.last, entry.seq)
        self.waiting.append(entry)
        amount = self._amount(entry)
        amount.count += 1
        amount.bytes += entry.size

    def grew(self, entry: E, by: int) -> None:
        """An entry of this queue became larger."""
        self._amount(entry).bytes += by

    def take(self) -> E:
        """The next one to send."""
        entry = self.waiting.popleft()
        self.sent.append(entry)
        return entry

    def rewind(self) -> None:
        """The line broke: what was not acknowledged is sent again."""
        self.waiting.extendleft(reversed(self.sent))
        self.sent.clear()

    def drop_sent(self, seq: int) -> list[E]:
        """Those that were sent and have a number up to this one have arrived."""
        return self._drop_head(self.sent, seq)

    def drop_until(self, seq: int) -> list[E]:
        """As `drop_sent`, those that wait included."""
        dropped = self._drop_head(self.sent, seq) + self._drop_head(self.waiting, seq)
        self.last = max(self.last, seq)
        return dropped

    def shrink(self, is_over: Callable[[], bool]) -> list[E]:
        """Drops the oldest that nobody waits for while it `is_over`, and writes the file anew."""
        dropped: list[E] = []
        for entries in (self.sent, self.waiting):
            left: deque[E] = deque()
            for entry in entries:
                if not entry.is_kept and is_over():
                    self._discount(entry)
                    dropped.append(entry)
                else:
                    left.append(entry)
            entries.clear()
            entries.extend(left)
        if dropped:
            self.rewrite()
        return dropped

    def tidy(self) -> None:
        """Writes the file anew where most of it is not needed any more."""
        size = self.journal.bytes
        if size > limits.OUTBOX_COMPACT_BYTES and size > 2 * self.bytes:
            self.rewrite()

    def rewrite(self) -> None:
        if self.is_empty:
            self.journal.clear()
        else:
            self.journal.rewrite(self._lines())

    def catch_up(self) -> None:
        """Before an entry is appended to the file."""
        self.journal.catch_up(self._lines)

    def settle(self) -> None:
        """Writes down what a full disk has kept out."""
        self.journal.settle(self._lines)

    def close(self) -> None:
        """Leaves the file to the next process, if anything is in it."""
        self.settle()
        if self.is_empty:
            self.journal.remove()
        else:
            self.journal.close()

    def _drop_head(self, entries: deque[E], seq: int) -> list[E]:
        dropped: list[E] = []
        while entries and entries[0].seq <= seq:
            entry = entries.popleft()
            self._discount(entry)
            dropped.append(entry)
        return dropped

    def _discount(self, entry: E) -> None:
        amount = self._amount(entry)
        amount.count -= 1
        amount.bytes -= entry.size

    def _amount(self, entry: E) -> Amount:
        return self.kept if entry.is_kept else self.loose
