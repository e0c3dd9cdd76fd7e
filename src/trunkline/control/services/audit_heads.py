"""Heads of the audit log, noted outside of its database: a file that is only appended to.

A line holds number and hash of an entry and when it was noted (Unix ms). Whoever has the database
and not this folder cannot put the log back to an older state, or empty it, without being seen.
"""

import errno
import os
import re
from pathlib import Path

import msgspec

from trunkline import limits

_LINE = re.compile(rb"(\d{1,15}) ([0-9a-f]{64}) (\d{1,15})\n")
_TAIL_BYTES = 1024
_DAY_MS = 24 * 3600 * 1000


class Head(msgspec.Struct, frozen=True):
    """The newest entry at some time."""

    seq: int
    hash: str


class AuditHeads:
    """The file. It grows by a line for so many entries, and by one a day and one a start if there
    are any new ones."""

    def __init__(self, path: Path, entries_per_line: int = limits.AUDIT_ENTRIES_PER_HEAD) -> None:
        self._path = path
        self._entries_per_line = entries_per_line
        self._newest: tuple[Head, int] | None = None

    @property
    def newest(self) -> Head | None:
        """The last one that was noted; None if none ever was."""
        last = self._last()
        return None if last is None else last[0]

    def _last(self) -> tuple[Head, int] | None:
        if self._newest is None:
            try:
                with self._path.open("rb") as file:
                    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
                    lines = list(_LINE.finditer(file.read()))
            except FileNotFoundError:
                return None
            if lines:
                self._newest = _head_of(lines[-1]), int(lines[-1][3])
        return self._newest

    def note(self, head: Head, now_ms: int, *, always: bool = False) -> None:
        """Adds a line, if one is due; `always`: if this head is not the last one there."""
        last = self._last()
        if last is not None:
            if last[0] == head:
                return
            is_due = (
                always
                or head.seq - last[0].seq >= self._entries_per_line
                or now_ms - last[1] >= _DAY_MS
            )
            if not is_due:
                return
        # A line that a crash has cut in half is ended first: it is no line, and harms no other.
        line = f"{_mend(self._path)}{head.seq} {head.hash} {now_ms}\n".encode()
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            before = os.fstat(file).st_size
            if os.write(file, line) != len(line):
                os.ftruncate(file, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        finally:
            os.close(file)
        self._newest = head, now_ms

    def read(self) -> dict[int, str]:
        """Every hash that was noted, by the number of its entry. What is no line is skipped."""
        found: dict[int, str] = {}
        try:
            with self._path.open("rb") as file:
                while line := file.readline(_TAIL_BYTES):
                    if (match := _LINE.fullmatch(line)) is not None:
                        head = _head_of(match)
                        # Two for one number: the first stands, and the chain cannot fit both.
                        found.setdefault(head.seq, head.hash)
        except FileNotFoundError:
            return {}
        return found


def _head_of(match: re.Match[bytes]) -> Head:
    return Head(int(match[1]), match[2].decode())


def _mend(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            return "" if size == 0 or file.read(1) == b"\n" else "\n"
    except FileNotFoundError:
        return ""
