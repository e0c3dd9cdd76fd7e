"""Makes the archive of a system, whether its server runs or not.

It is there whole or not at all: written under another name, closed to others, and renamed when it
is on disk. A copy of each database is written beside it first, one after the other.
"""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Protocol

from trunkline import __version__, limits
from trunkline.control.access import key_files
from trunkline.control.backup import archive, swap
from trunkline.control.backup.archive import Manifest, Writer
from trunkline.control.backup.moment import one_moment
from trunkline.control.errors import Conflict, InvalidRequest, Unavailable
from trunkline.control.files import heads_file, log_file, records_file
from trunkline.control.settings import Settings
from trunkline.control.store import migrate
from trunkline.control.store.backup import size_of, write_copy
from trunkline.places import ADMIN_TOKEN_FILE
from trunkline.private_files import NotPrivate, make_file, sync

_ROOM_BYTES = 16 * limits.MIB
_SMALL_BYTES_MAX = 16 * limits.MIB  # of keys and the like


class Progress(Protocol):
    def tell(self, what: str) -> None: ...

    def at(self, done: int, total: int = 0) -> None: ...


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def make(
    settings: Settings,
    target: Path,
    *,
    now_ms: int,
    progress: Progress,
    replace: bool = False,
    free: Callable[[Path], int] = free_bytes,
) -> Manifest:
    """Unavailable or InvalidRequest where that cannot be done; there is no file then, or the one
    that was there. `replace`: another file of that name may go."""
    swap.check_finished(settings.data_dir)
    if target.exists() and not (replace and target.is_file()):  # nor in the place of a device
        what = "is a folder" if target.is_dir() else "is there already"
        raise InvalidRequest(f"{target} {what}: name another file", code="BACKUP_EXISTS")
    databases = _databases(settings)
    try:
        # Before the moment: a head of the audit log is noted behind its entry, so that what is
        # noted by now is in the records then.
        small = _small_files(settings)
        size = sum(map(size_of, databases.values())) + sum(map(len, small.values()))
        _check_room(databases, size, target.absolute().parent, free)
        with _draft(target) as (draft, scratch):
            manifest = _write(draft, scratch, databases, small, now_ms, progress, size)
            sync(draft)
            draft.rename(target)
            sync(target.absolute().parent)
    except NotPrivate as error:
        raise Unavailable(str(error), code="NOT_PRIVATE") from error
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else None
        where = f"{target}: {why}" if why else str(error)
        raise Unavailable(f"no backup was made: {where}", code="BACKUP_FAILED") from error
    return manifest


def _databases(settings: Settings) -> dict[str, Path]:
    """By the names that they have in the archive; none where they are PostgreSQL's."""
    records, log = records_file(settings), log_file(settings)
    if log is None:
        return {}
    if records is None or not records.is_file() or not log.is_file():
        raise InvalidRequest(
            f"{settings.data_dir} has no databases: name the data folder of the server with --data,"
            " and its settings with --config or in the environment",
            code="BACKUP_NOTHING",
        )
    return {archive.RECORDS: records, archive.LOG: log}


def _small_files(settings: Settings) -> dict[str, bytes]:
    """Keys, the admin's token, the noted heads of the audit log."""
    found = {}
    keys = key_files.read(settings.keys_place)
    missing = [one for one in archive.KEY_FILES if one not in keys]
    if missing:
        raise InvalidRequest(
            f"{settings.keys_place} has no {' and no '.join(missing)}: name the folder or file of"
            " the server's keys (TRUNKLINE_KEYS)",
            code="BACKUP_NOTHING",
        )
    heads = heads_file(settings)
    for path in (settings.data_dir / ADMIN_TOKEN_FILE, heads):
        if path.is_file():
            found[path.name] = path
    contents = {archive.KEYS + name: keys[name] for name in sorted(keys)}
    for name, path in found.items():
        if path.stat().st_size > _SMALL_BYTES_MAX and path != heads:
            raise OSError(f"{path} is too large to be what its name says")
        contents[name] = path.read_bytes()
    return contents


def _check_room(
    databases: dict[str, Path], size: int, folder: Path, free: Callable[[Path], int]
) -> None:
    """For the archive, and for one copy of a database beside it."""
    wanted = size + max([*map(size_of, databases.values()), 0]) + _ROOM_BYTES
    found = free(folder)
    if found < wanted:
        raise Unavailable(
            f"no backup was made: {folder} has {_mb(found)} MB free, and {_mb(wanted)} MB are"
            " needed: a copy of the larger database is there for a while",
            code="BACKUP_FAILED",
        )


@contextmanager
def _draft(target: Path) -> Iterator[tuple[Path, Path]]:
    """The names of the unfinished archive and of a database's copy. What a killed process left of
    them is overwritten."""
    draft = target.with_name(f".{target.name}.part")
    scratch = target.with_name(f".{target.name}.db.part")
    make_file(draft)
    lock = os.open(draft, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            what = f"another backup to {target} is being made"
            raise Conflict(what, code="BACKUP_RUNS") from error
        try:
            os.truncate(lock, 0)
            yield draft, scratch
        finally:
            for one in (draft, scratch):
                with suppress(FileNotFoundError):  # it has its name by now
                    one.unlink()
    finally:
        os.close(lock)


def _write(
    draft: Path,
    scratch: Path,
    databases: dict[str, Path],
    small: dict[str, bytes],
    now_ms: int,
    progress: Progress,
    size: int,
) -> Manifest:
    done = 0

    def wrote(count: int) -> None:
        nonlocal done
        done += count
        progress.at(done, max(done, size))

    with draft.open("r+b") as file, one_moment(list(databases.values())) as views:
        writer = Writer(file, wrote, now_ms // 1000)
        schemas = {}
        for branch, view in zip(("records", "log"), views, strict=False):
            found = [row[0] for row in view.execute(migrate.VERSIONS)]
            schemas[branch] = migrate.revision(found, branch) or ""
        counts = {name: _count(view, name) for view in views[:1] for name in archive.COUNTED}
        for (name, path), view in zip(databases.items(), views, strict=True):
            progress.tell(f"copying {path.name}")
            scratch.unlink(missing_ok=True)
            [page_bytes] = view.execute("PRAGMA page_size").fetchone()
            write_copy(view, scratch, partial(_pages_done, progress, page_bytes))
            progress.tell(f"writing {draft.name.removeprefix('.').removesuffix('.part')}")
            with scratch.open("rb") as copy:
                writer.add(name, copy, scratch.stat().st_size)
            scratch.unlink()
        for name, content in small.items():
            writer.add(name, BytesIO(content), len(content))
        manifest = Manifest(
            format=archive.FORMAT,
            trunkline=__version__,
            made_at=now_ms,
            database="sqlite" if databases else "postgresql",
            schemas=schemas,
            counts=counts,
            files=writer.members,
        )
        writer.finish(manifest)
    return manifest


def _pages_done(progress: Progress, page_bytes: int, done: int, total: int) -> None:
    progress.at(done * page_bytes, total * page_bytes)


def _count(view: sqlite3.Connection, table: str) -> int:
    found: int = view.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
    return found


def _mb(size: int) -> int:
    return -(-size // limits.MIB)
