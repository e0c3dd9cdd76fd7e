"""Moves SQLite's write-ahead log into the database beside the writer, not in its way.

Left to itself SQLite does that inside some commit, and that commit waits for two fsyncs. Here a
thread of its own does it; only a log that has grown far ahead is moved by the writer itself.
"""

import os
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog

from trunkline import limits

_log = structlog.get_logger(__name__)

_NICENESS = 10


class Checkpointer:
    """For one database file with one writer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix="log checkpoint", initializer=_step_back
        )
        self._commits = 0
        self._bytes = 0
        self._pages = 0
        self._is_running = False

    def committed(self, writer: sqlite3.Connection, size_bytes: int) -> None:
        """After each commit, on the writer's thread. The commit stands, whatever happens here."""
        self._commits += 1
        self._bytes += size_bytes
        if self._pages > limits.LOG_WAL_PAGES_MAX:
            # While commits never pause, SQLite cannot start its log anew beside them.
            self._pages = 0
            _tried(writer)
        elif not self._is_running and (
            self._commits >= limits.LOG_CHECKPOINT_COMMITS
            or self._bytes >= limits.LOG_CHECKPOINT_BYTES
        ):
            self._is_running = True
            self._commits = self._bytes = 0
            self._thread.submit(self._run)

    def _run(self) -> None:
        try:
            connection = sqlite3.connect(self._path, isolation_level=None)
            self._pages = _tried(connection)
            connection.close()
        finally:
            self._is_running = False

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
    except sqlite3.Error:
        _log.exception("the write-ahead log could not be moved; it grows until it can")
        return 0
    return int(pages)
