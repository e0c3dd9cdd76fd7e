"""Why a database cannot be used now, in the few words that operators, readers and metrics are told.

Only what heals or is healed outside of this program has a cause. A wrong statement has none: that
is a fault of ours. Knows the drivers' errors, and nothing of what was written.
"""

import errno
import os
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trunkline.control.errors import NoRoom, Overtaken, TrunklineError, Unavailable
from trunkline.control.store.fence import overtaken

DISK_FULL: Final = "disk full"
READ_ONLY: Final = "disk read-only"
DISK_ERROR: Final = "disk error"
SLOW_DISK: Final = "slow disk"
AWAY: Final = "database away"
LOCKED: Final = "database locked"
TAKEN: Final = "database taken over"
"""By another control plane. The only one that does not pass."""
FAILED: Final = "database error"
"""It refused, for a reason that is none of these."""
CAUSES: Final = (DISK_FULL, READ_ONLY, DISK_ERROR, SLOW_DISK, AWAY, LOCKED, TAKEN, FAILED)

ROOM_BYTES_MIN = 1024 * 1024
"""With less, no new work begins: what is left is for the work that runs."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_AWAY_ERRNOS = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
_OF_ERRNO = dict.fromkeys(_NO_ROOM, DISK_FULL) | {
    errno.EROFS: READ_ONLY,
    errno.EIO: DISK_ERROR,
    errno.ESTALE: DISK_ERROR,
    **dict.fromkeys(_AWAY_ERRNOS, AWAY),
}
_OF_SQLITE = {
    sqlite3.SQLITE_FULL: DISK_FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_IOERR: DISK_ERROR,
    sqlite3.SQLITE_CANTOPEN: DISK_ERROR,
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
}
_OF_SQLSTATE = {
    "53100": DISK_FULL,
    "25006": READ_ONLY,  # a standby, or a database that was made so
    "58030": DISK_ERROR,
    "55P03": LOCKED,
}
# Lost, shutting down or starting, no connection left, given up on in a transaction.
_AWAY_STATES = ("08", "57P", "533", "534", "25P03")
_AWAY_ERRORS = (ConnectionError, TimeoutError, socket.gaierror)
_CODES = frozenset((NoRoom.code, "DATABASE_UNREACHABLE", Overtaken.code, "NOT_WRITABLE"))
_ERRORS_DEEP_MAX = 10


def cause_of(error: BaseException, folder: Path | None = None) -> str | None:
    """None for an error that says nothing of the disk or the database. `folder`: where the files
    are; SQLite says of some failures only that there was one, and the disk says the rest."""
    for one in _all_of(error):
        found = _cause(one)
        if found == DISK_ERROR and folder is not None:
            return state_of(folder) or found
        if found is not None:
            return found
    return None


def state_of(folder: Path, bytes_min: int = 1) -> str | None:
    """What the file system of that folder says itself; None when it has that much room."""
    try:
        disk = os.statvfs(folder)
    except OSError as error:
        return _OF_ERRNO.get(error.errno or 0, DISK_ERROR)
    if disk.f_flag & os.ST_RDONLY:
        return READ_ONLY
    blocks = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    return DISK_FULL if blocks * disk.f_frsize < bytes_min else None


def is_refusal(error: BaseException) -> bool:
    """Whether it is one that `refusal` made: the same may go well later."""
    return isinstance(error, TrunklineError) and error.code in _CODES


def refusal(cause: str) -> TrunklineError:
    """What whoever wants something written is told."""
    if cause == DISK_FULL:
        return NoRoom("the server's disk is full: nothing was changed; try again when it has room")
    if cause == AWAY:
        return Unavailable("the database does not answer", code="DATABASE_UNREACHABLE")
    if cause == TAKEN:
        return overtaken()
    return Unavailable(f"the server cannot write now: {cause}", code="NOT_WRITABLE")


def _cause(error: BaseException) -> str | None:
    if isinstance(error, Overtaken):
        return TAKEN
    if isinstance(error, sqlite3.Error):
        # The lower byte of an extended code is what it is a kind of.
        return _OF_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return AWAY if state.startswith(_AWAY_STATES) else _OF_SQLSTATE.get(state)
    if isinstance(error, _AWAY_ERRORS) or getattr(error, "connection_invalidated", False):
        return AWAY
    if isinstance(error, OSError):
        return _OF_ERRNO.get(error.errno or 0)
    return None


def _all_of(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it was made of, the innermost first: a driver's own is hidden behind
    SQLAlchemy's."""
    found = [error]
    while len(found) < _ERRORS_DEEP_MAX:
        inner = getattr(found[-1], "orig", None) or found[-1].__cause__
        if not isinstance(inner, BaseException):
            break
        found.append(inner)
    return reversed(found)
