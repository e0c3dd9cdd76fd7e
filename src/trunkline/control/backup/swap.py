"""Puts other files in the place of a system's: killed at any point, the folder has all of the old
ones or all of the new.

1. The new files are made in `.restore/new`. Until here the folder is as it was.
2. `.restore/ready` is written: from here on it is the new one, whoever finishes it.
3. What was there goes to `replaced-TIME`, all of it; then the new files take their names.
4. `.restore` is removed.

Whoever takes the folder next, a server or another restore, does what is left of 3 and 4 first
(`finish`). All of it happens inside the folder, which may be a volume that cannot be renamed.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from trunkline.control.errors import Conflict, Unavailable
from trunkline.private_files import make_folder, sync, write_private

_WORK = ".restore"
_NEW, _READY = "new", "ready"


class _Ready(msgspec.Struct):
    """What is to be done: `new` take their names, what there is of `old` goes to `aside`."""

    new: list[str]
    old: list[str]
    aside: str


def check_finished(folder: Path) -> None:
    """Conflict, while a restore has been begun there and not been finished."""
    if (folder / _WORK / _READY).exists():
        raise Conflict(
            f"a restore into {folder} was interrupted: the next start of the server finishes it",
            code="RESTORE_UNFINISHED",
        )


def begin(folder: Path) -> Path:
    """An empty folder for the new files; `folder` is held, and nothing is unfinished."""
    shutil.rmtree(folder / _WORK, ignore_errors=True)
    new = folder / _WORK / _NEW
    make_folder(new)
    return new


def drop(folder: Path) -> None:
    """The new files are of no use after all."""
    shutil.rmtree(folder / _WORK, ignore_errors=True)


def commit(folder: Path, old: Iterable[str], aside: str) -> None:
    """The new files are the system's from here on. OSError: they are not."""
    work = folder / _WORK
    names = sorted(one.name for one in (work / _NEW).iterdir())
    for path in sorted((work / _NEW).rglob("*")):
        sync(path)
    for path in (work / _NEW, work, folder):
        sync(path)
    ready = _Ready(names, sorted({*old, *names}), aside)
    write_private(work / _READY, msgspec.json.encode(ready))


def finish(folder: Path) -> None:
    """Does what is left to do. The folder must be held."""
    work = folder / _WORK
    try:
        ready = msgspec.json.decode((work / _READY).read_bytes(), type=_Ready)
    except FileNotFoundError:
        drop(folder)
        return
    except (OSError, msgspec.MsgspecError) as error:
        raise Unavailable(f"{work / _READY} cannot be read: {error}") from error
    new, aside = work / _NEW, folder / ready.aside
    try:
        for name in ready.old:
            # Where the new file has left `new`, it is what has the name.
            is_old = (new / name).exists() or name not in ready.new
            if is_old and os.path.lexists(folder / name):
                make_folder(aside)
                (folder / name).rename(aside / name)
        for path in filter(Path.exists, (aside, folder)):
            sync(path)  # before anything takes these names
        for name in ready.new:
            if (new / name).exists():
                (new / name).rename(folder / name)
        sync(folder)
        (work / _READY).unlink()
        sync(work)
    except OSError as error:
        raise Unavailable(f"the restore into {folder} cannot be finished: {error}") from error
    drop(folder)
