"""A copy of a SQLite database, made before its schema is changed: `backups/` beside the database.

A copy is whole or not there: it is written under another name and renamed when it is on disk. What
a killed process left of one is removed by the next.
"""

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import structlog
from sqlalchemy.engine import URL

from trunkline import limits
from trunkline.control.errors import Unavailable
from trunkline.private_files import NotPrivate, make_file, make_folder, sync

_log = structlog.get_logger(__name__)

FOLDER = "backups"
KEPT = 5
"""Of each database, the newest."""
_ROOM_BYTES = 64 * limits.MIB  # for the upgrade itself, at least
_PAGES_A_STEP = 4_096  # 16 MiB
_TELL_S = 2.0

Tell = Callable[[int], None]
"""How much of it is copied, in percent. Called now and then while a large one is copied."""


def sqlite_file(url: URL) -> Path | None:
    """The file of a database that is one."""
    name = url.database or ":memory:"
    is_file = url.get_backend_name() == "sqlite" and not name.startswith((":memory:", "file:"))
    return Path(name) if is_file else None


def make(
    path: Path,
    revision: str,
    *,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    tell: Tell | None = None,
) -> Path:
    """A copy of the database `path`, which has that schema. Unavailable where none can be made; the
    database is as it was then. `free`: the room where a folder is, in bytes."""
    folder = path.with_name(FOLDER)
    try:
        make_folder(folder)
        for left in folder.glob(f".{path.stem}-*.part"):
            left.unlink()
        _check_room(path, folder, free(folder))
        at = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        made = folder / f"{path.stem}-{revision}-{at}.db"
        _copy(path, folder / f".{made.stem}.part", made, tell or _progress(path))
        for old in copies(path)[KEPT:]:
            old.unlink()
    except NotPrivate as error:
        raise Unavailable(str(error), code="NOT_PRIVATE") from error
    except (OSError, sqlite3.Error) as error:
        raise Unavailable(
            f"no copy of {path} can be made in {folder}, so it is not upgraded: {error}",
            code="BACKUP_FAILED",
        ) from error
    return made


def copies(path: Path) -> list[Path]:
    """Those of a database, the newest first."""
    found = path.with_name(FOLDER).glob(f"{path.stem}-*.db")
    return sorted(found, key=lambda one: one.stem.rpartition("-")[2], reverse=True)


def size_of(path: Path) -> int:
    """What a copy of the database needs at most, in bytes."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def _check_room(path: Path, folder: Path, free: int) -> None:
    size = size_of(path)
    wanted = size + max(_ROOM_BYTES, size // 10)
    if free < wanted:
        raise Unavailable(
            f"{path} is not upgraded: it is copied to {folder} first, which needs"
            f" {_mb(wanted)} MB, and {_mb(free)} MB are free. Make room, or make that folder a"
            " link to one on another disk",
            code="BACKUP_FAILED",
        )


def _copy(path: Path, draft: Path, made: Path, tell: Tell) -> None:
    told = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal told
        if total and time.monotonic() - told > _TELL_S:
            told = time.monotonic()
            tell(100 * done // total)

    with closing(sqlite3.connect(path)) as source:
        write_copy(source, draft, progress)
    draft.rename(made)
    sync(made.parent)  # the name is part of the folder, which is synced separately


def write_copy(
    source: sqlite3.Connection, target: Path, progress: Callable[[int, int], None]
) -> None:
    """Everything that the connection sees, as a file that is on disk when this returns. `progress`
    is told how many pages are done, and of how many."""
    make_file(target)  # before SQLite makes it, which would leave it open to others
    with closing(sqlite3.connect(target)) as copy:
        # Synced once at the end: half of a copy is of no use.
        copy.execute("PRAGMA journal_mode=OFF")
        copy.execute("PRAGMA synchronous=OFF")
        source.backup(
            copy,
            pages=_PAGES_A_STEP,
            progress=lambda _status, remaining, total: progress(total - remaining, total),
        )
    sync(target)


def _progress(path: Path) -> Tell:
    def tell(percent: int) -> None:
        _log.info("the database is copied before its upgrade", path=str(path), percent=percent)

    return tell


def _mb(size: int) -> int:
    return -(-size // limits.MIB)
