"""Why a database cannot be written, and who is told what."""

import errno
import socket
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

from trunkline.control.errors import Conflict, NoRoom, TrunklineError, Unavailable
from trunkline.control.storage import Storage
from trunkline.control.store import causes


def sqlite(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("said by SQLite")
    error.sqlite_errorcode = code
    return error


def wrapped(error: BaseException) -> OperationalError:
    return OperationalError("INSERT", {}, error)


class OfServer(Exception):
    """As a driver of PostgreSQL raises it."""

    def __init__(self, sqlstate: str) -> None:
        self.sqlstate = sqlstate


def refused_because(error: BaseException) -> TrunklineError:
    refusal = causes.refusal("disk full")
    refusal.__cause__ = error
    return refusal


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (sqlite(sqlite3.SQLITE_FULL), "disk full"),
        (wrapped(sqlite(sqlite3.SQLITE_FULL)), "disk full"),
        (refused_because(wrapped(sqlite(sqlite3.SQLITE_FULL))), "disk full"),
        (wrapped(sqlite(sqlite3.SQLITE_IOERR_FSYNC)), "disk error"),
        (sqlite(sqlite3.SQLITE_READONLY_DBMOVED), "disk read-only"),
        (sqlite(sqlite3.SQLITE_CANTOPEN), "disk error"),
        (sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT), "database locked"),
        (sqlite(sqlite3.SQLITE_ERROR), None),
        (IntegrityError("INSERT", {}, sqlite(sqlite3.SQLITE_CONSTRAINT_UNIQUE)), None),
        (wrapped(OfServer("53100")), "disk full"),
        (wrapped(OfServer("25006")), "disk read-only"),
        (wrapped(OfServer("57P03")), "database away"),
        (wrapped(OfServer("08006")), "database away"),
        (wrapped(OfServer("25P03")), "database away"),
        (wrapped(OfServer("42P01")), None),
        (
            OperationalError("SELECT 1", {}, Exception(), connection_invalidated=True),
            "database away",
        ),
        (OSError(errno.ENOSPC, "no room"), "disk full"),
        (OSError(errno.EDQUOT, "no quota"), "disk full"),
        (OSError(errno.EROFS, "read-only"), "disk read-only"),
        (OSError(errno.EIO, "broken"), "disk error"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "database away"),
        (socket.gaierror(-2, "no such name"), "database away"),
        (OSError(errno.ENOENT, "no such file"), None),
        (Conflict("not the disk"), None),
        (ValueError("no error of a disk"), None),
    ],
)
def test_each_error_has_its_cause(error: BaseException, cause: str | None) -> None:
    assert causes.cause_of(error) == cause
    assert cause is None or cause in causes.CAUSES


def test_what_sqlite_does_not_say_the_disk_says(tmp_path: Path) -> None:
    failed = sqlite(sqlite3.SQLITE_IOERR_SHMSIZE)
    assert causes.cause_of(failed, tmp_path) == "disk error"  # there is room
    # There never is any; and where it may not be written, that is the reason.
    assert causes.cause_of(failed, Path("/proc")) in ("disk full", "disk read-only")
    assert causes.state_of(tmp_path / "missing") == "disk error"
    assert causes.state_of(tmp_path, bytes_min=2**62) == "disk full"


@pytest.mark.parametrize("cause", causes.CAUSES)
def test_a_refusal_has_a_code_and_says_the_cause(cause: str) -> None:
    refusal = causes.refusal(cause)
    assert causes.is_refusal(refusal)
    assert isinstance(refusal, NoRoom if cause == "disk full" else Unavailable)
    assert not causes.is_refusal(Unavailable("something else"))


class Parts:
    """A log and records."""

    stalled: str | None = None
    trouble: str | None = None


def test_new_work_is_refused_while_anything_cannot_be_written(tmp_path: Path) -> None:
    parts = Parts()
    disk: list[str | None] = [None]
    storage = Storage(parts, parts, tmp_path, lambda _folder, _bytes: disk[0])
    storage.sweep()
    storage.check()
    parts.stalled = "slow disk"
    assert storage.cause == "slow disk"
    storage.check()  # it is waited for
    parts.stalled = "disk full"
    for is_new in (True, False):
        with pytest.raises(NoRoom):
            storage.check(is_new=is_new)
    parts.stalled, disk[0] = None, "disk full"
    storage.sweep()
    storage.check(is_new=False)  # what makes room may use what is left
    with pytest.raises(NoRoom):
        storage.check()
    disk[0] = None
    storage.sweep()
    storage.check()


@pytest.mark.parametrize("is_file", [True, False])
def test_a_failed_write_keeps_others_away_until_it_may_go_well(
    tmp_path: Path, is_file: bool
) -> None:
    parts = Parts()
    storage = Storage(parts, parts, tmp_path if is_file else None, lambda _folder, _bytes: None)
    parts.trouble = "disk full"
    with pytest.raises(NoRoom):
        storage.check()
    for _ in range(1 if is_file else 11):  # seconds; a disk of another host cannot be looked at
        assert storage.cause == "disk full"
        storage.sweep()
    storage.check()
