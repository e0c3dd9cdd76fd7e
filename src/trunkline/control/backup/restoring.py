"""Checks an archive, and makes a system of it.

A restore holds the data folder as a server does, unpacks and checks the archive beside what is
there, and only then puts it in its place (`swap`). The next start of the server upgrades what is of
an older version and lets everybody know (`restored`).
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from trunkline import limits
from trunkline.control import data_folder
from trunkline.control.access import key_files
from trunkline.control.backup import archive, checking, restored, swap
from trunkline.control.backup.archive import Archive, Manifest
from trunkline.control.backup.making import Progress, free_bytes
from trunkline.control.backup.passing_folder import passing_folder
from trunkline.control.backup.restored import Restored
from trunkline.control.errors import Conflict, InvalidRequest, Unavailable
from trunkline.control.files import log_file
from trunkline.control.settings import Settings
from trunkline.places import ADMIN_TOKEN_FILE, SERVER_FILE
from trunkline.private_files import make_folder

_ROOM_BYTES = 16 * limits.MIB
_BESIDE = ("", "-wal", "-shm")  # a database, and what SQLite keeps with it


@contextmanager
def _opened(source: Path) -> Iterator[Archive]:
    if not source.is_file():  # to open a pipe would wait for ever
        raise InvalidRequest(f"{source} is no file")
    try:
        file = source.open("rb")
    except OSError as error:
        raise InvalidRequest(f"{source} cannot be read: {error.strerror}") from error
    with file:
        yield Archive(source, file)


def verify(
    source: Path, *, progress: Progress, free: Callable[[Path], int] = free_bytes
) -> Manifest:
    """What is in the archive, if a system can be made of it. It is unpacked for that, beside the
    archive or where temporary files are, and removed again; also what a killed one has left."""
    with _opened(source) as opened:
        beside = source.absolute().parent
        where = beside if os.access(beside, os.W_OK) else Path(tempfile.gettempdir())
        _check_room(opened.manifest, where, free)
        with passing_folder(where) as folder:
            _unpack(opened, folder, progress)
        return opened.manifest


def restore(
    settings: Settings,
    source: Path,
    *,
    now_ms: int,
    progress: Progress,
    replace: bool = False,
    free: Callable[[Path], int] = free_bytes,
) -> tuple[Manifest, Path | None]:
    """Returns what is in the archive, and where the files are that it has replaced. `replace`: a
    system that is there already may be."""
    folder = settings.data_dir
    with _opened(source) as opened, data_folder.held(settings):
        manifest = opened.manifest
        _check_engine(settings, manifest)
        old = _old(settings, manifest)
        if old and not replace:
            raise Conflict(
                f"{folder} has a system already ({', '.join(old)[:200]}): choose another folder"
                " with --data, or let this one take its place with --replace, which keeps the old"
                " files",
                code="DATA_NOT_EMPTY",
            )
        _check_room(manifest, folder, free)
        try:
            new = swap.begin(folder)
            _unpack(opened, new, progress)
            _place_keys(settings, new)
            restored.write(new, Restored(restored_at=now_ms, made_at=manifest.made_at))
            swap.commit(folder, [*old, SERVER_FILE], aside := _aside(folder, now_ms))
        except OSError as error:
            raise Unavailable(f"nothing was restored: {error}", code="RESTORE_FAILED") from error
        finally:
            # What was made ready is finished, and anything else removed.
            swap.finish(folder)
    return manifest, folder / aside if (folder / aside).exists() else None


def skip_ids(settings: Settings, *, now_ms: int) -> None:
    """For a database that was put back by its own tools: the next start treats it as restored."""
    with data_folder.held(settings):
        restored.write(settings.data_dir, Restored(restored_at=now_ms))


def _check_engine(settings: Settings, manifest: Manifest) -> None:
    uses = "postgresql" if log_file(settings) is None else "sqlite"
    if uses != manifest.database:
        raise InvalidRequest(
            f"the backup is of a system on {manifest.database}, and the settings here name"
            f" {uses}: set or unset TRUNKLINE_DATABASE_URL",
            code="RESTORE_OTHER_DATABASE",
        )
    if uses == "sqlite" and settings.database_url is not None:
        raise InvalidRequest(
            "a restore puts both databases into the data folder: unset TRUNKLINE_DATABASE_URL",
            code="RESTORE_OTHER_DATABASE",
        )


def _old(settings: Settings, manifest: Manifest) -> list[str]:
    """What is there of a system, by the names that it has in the data folder."""
    folder = settings.data_dir
    names = [ADMIN_TOKEN_FILE, restored.FILE]
    names += [one.name for one in folder.glob("audit-heads*")]
    if settings.keys_place == folder / "keys":
        names.append("keys")
    if manifest.database == "sqlite":
        databases = (archive.RECORDS, archive.LOG)
        names += [name + suffix for name in databases for suffix in _BESIDE]
    found = sorted(one for one in names if os.path.lexists(folder / one))
    for one in found:
        if os.path.ismount(folder / one):
            raise InvalidRequest(f"{folder / one} is a volume of its own, and cannot be replaced")
    return found


def _aside(folder: Path, now_ms: int) -> str:
    """A name that nothing there has."""
    name = f"replaced-{datetime.fromtimestamp(now_ms / 1000, UTC):%Y%m%dT%H%M%SZ}"
    others = (f"{name}-{number}" for number in count(2))
    return next(one for one in chain([name], others) if not (folder / one).exists())


def _check_room(manifest: Manifest, folder: Path, free: Callable[[Path], int]) -> None:
    wanted, found = manifest.bytes + _ROOM_BYTES, free(folder)
    if found < wanted:
        raise Unavailable(
            f"{folder} has {found // limits.MIB} MB free, and {-(-wanted // limits.MIB)} MB are"
            " needed to unpack the backup",
            code="RESTORE_FAILED",
        )


def _unpack(opened: Archive, folder: Path, progress: Progress) -> None:
    """Every file, and a look at what they are."""
    done, total = 0, opened.manifest.bytes

    def wrote(count: int) -> None:
        nonlocal done
        done += count
        progress.at(done, total)

    progress.tell("unpacking")
    for member in opened.manifest.files:
        path = folder / member.name
        make_folder(path.parent)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            opened.unpack(member, file, wrote)
    progress.tell("checking")
    try:
        checking.check(opened, folder)
    except sqlite3.Error as error:
        raise opened.bad(str(error)) from error


def _place_keys(settings: Settings, new: Path) -> None:
    """Keys that live elsewhere: those that are there must be the same, what is missing is added.
    Before anything else changes, so that no system is ever there without its keys."""
    place = settings.keys_place
    if place == settings.data_dir / "keys":
        return
    wanted = {one.name: one.read_bytes() for one in (new / "keys").iterdir()}
    there = key_files.read(place)
    for name in sorted(there):
        if there[name] != wanted.get(name):
            raise Conflict(
                f"{name} in {place} is the key of another system: move that aside",
                code="DATA_NOT_EMPTY",
            )
    if missing := {name: wanted[name] for name in key_files.NAMES if name not in there}:
        key_files.write(place, missing)
    shutil.rmtree(new / "keys")
