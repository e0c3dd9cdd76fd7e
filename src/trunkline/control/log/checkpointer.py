"""Moves SQLite's write-ahead log into the database beside the writer, not in its way.

Left to itself SQLite does that inside some commit, and that commit waits for two fsyncs. Here a
thread of its own does it. While commits never pause, something is always left behind it, and SQLite
cannot start its log anew: the writer moves that rest itself when the thread has just moved all
else, and then once more what came meanwhile, until that is hardly anything. Where the thread gets
no turn or its disk is slow, a log that is full is waited for.
"""

import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from pathlib import Path

import structlog

_log = structlog.get_logger(__name__)

_DUE_PAGES = 4_096  # 16 MiB, of which much is the same pages again
_REST_PAGES = 8_192  # 32 MiB
_PAGES_MAX = 16_384  # 64 MiB
_REST_SMALL_PAGES = 64
_PASSES_MAX = 5  # each syncs two files
_PAGES_MIN = 32  # however little room there is
_NICENESS = 10
_PAGE_BYTES = 4096
_PAGES_PER_ROW = 3  # its leaf, and its share of those that are split; a large body has its own


class Checkpointer:
    """For one database file with one writer."""

    def __init__(
        self,
        path: Path,
        *,
        due_pages: int = _DUE_PAGES,
        rest_pages: int = _REST_PAGES,
        pages_max: int = _PAGES_MAX,
        thread: Executor | None = None,
        move: Callable[[sqlite3.Connection], int] | None = None,
    ) -> None:
        """Moves what is due on the thread, and on the writer's own the rest of a log that has so
        many pages, or all of one that has too many."""
        self._path = path
        self._move = move or _tried
        self._due_pages = due_pages
        self._rest_pages = rest_pages
        self._pages_max = pages_max
        self._thread = thread or ThreadPoolExecutor(
            1, thread_name_prefix="log checkpoint", initializer=_step_back
        )
        self._moving: Future[None] | None = None
        self._pages = 0  # that the log had when the thread last looked
        self._has_moved = False  # just now, all that was there when it began
        self._rows = 0  # since it was last told to look
        self._bytes = 0

    def committed(self, writer: sqlite3.Connection, *, rows: int, size_bytes: int) -> None:
        """After each commit, on the writer's thread. The commit stands, whatever happens here."""
        self._rows += rows
        self._bytes += size_bytes
        since = self._rows * _PAGES_PER_ROW + self._bytes // _PAGE_BYTES
        if since < min(_PAGES_MIN, self._due_pages):
            return
        room = self._room()
        is_full = self._pages + since > min(self._pages_max, room)
        if is_full or (self._has_moved and self._pages > self._rest_pages):
            if self._moving is not None and not self._moving.cancel():
                wait([self._moving])
            self._pages = self._rows = self._bytes = 0
            self._has_moved = False
            self._move(writer)
        elif since >= min(self._due_pages, room // 2) and not self._is_moving:
            self._rows = self._bytes = 0
            self._has_moved = False
            self._moving = self._thread.submit(self._run)

    @property
    def _is_moving(self) -> bool:
        return self._moving is not None and not self._moving.done()

    def _room(self) -> int:
        """How many pages the log may have, for the disk's sake: what is moved out of it needs its
        place in the database first, and a log that has taken all there is cannot be moved."""
        try:
            disk = os.statvfs(self._path.parent)
        except OSError:
            return self._pages_max
        return max(2 * _PAGES_MIN, disk.f_bavail * disk.f_frsize // _PAGE_BYTES // 2)

    def make_room(self, writer: sqlite3.Connection) -> None:
        """The disk is full, on the writer's thread: what is moved now leaves its place to what
        comes. A log that is not due yet would never be moved, while nothing can be committed."""
        self._pages = self._move(writer)

    def _run(self) -> None:
        """What a move leaves is what was committed while it took: the less there is to move, the
        less is left. Nobody needs that of a log that goes on growing."""
        try:
            connection = sqlite3.connect(self._path, isolation_level=None)
        except sqlite3.Error:
            _log.exception("the write-ahead log cannot be opened; it grows until it can")
            return
        before, pages = 0, self._move(connection)
        for _ in range(_PASSES_MAX - 1):
            if pages <= self._rest_pages or pages - before <= _REST_SMALL_PAGES:
                break
            before, pages = pages, self._move(connection)
        self._pages = pages
        self._has_moved = True
        connection.close()

    def close(self) -> None:
        self._thread.shutdown()


def _step_back() -> None:
    """On a busy core this thread waits for the others, not they for it."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _tried(connection: sqlite3.Connection) -> int:
    """Moves what can be moved without waiting; returns the pages that the log has."""
    try:
        _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error as error:
        why = str(error)
        _log.error("the write-ahead log could not be moved; it grows until it can", error=why)
        return 0
    return int(pages)
