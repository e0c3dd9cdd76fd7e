"""Files and folders that are nobody else's business: made private, and mended where they are not.

For both planes. Whatever the umask or an earlier start says, what is mended here can be read by its
own user only; what cannot be mended is refused. Callers log what was mended.
"""

import os
import stat
from pathlib import Path

FOLDER = 0o700
FILE = 0o600
_OTHERS = 0o077
_ALL_BUT_GROUPS_READING = 0o037


class NotPrivate(PermissionError):
    """Others can read it, and that cannot be changed from here. The text says what to do."""

    def __str__(self) -> str:
        return str(self.args[0])


def make_folder(path: Path) -> bool:
    """A private folder of that name, and private ones above it where they are missing; whether one
    was there that was open to others."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=FOLDER, exist_ok=True)
    return close_to_others(path)


def make_file(path: Path) -> bool:
    """The same for a file, empty if it was not there."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE))
    return close_to_others(path)


def write_private(path: Path, content: str | bytes) -> None:
    """Writes a file atomically, readable by this user only, and on disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER)
    # Written beside it and renamed: a process killed meanwhile leaves no half of a key.
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE), "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    sync(path.parent)  # the name is part of the folder, which is synced separately


def sync(path: Path) -> None:
    """A file's content, or the names in a folder, are on disk when this returns."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def close_files(folder: Path) -> list[Path]:
    """Closes the plain files of a folder to others; those that had been open. Links are left alone:
    what they lead to was chosen by somebody."""
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.is_symlink() and close_to_others(path)
    ]


def close_to_others(path: Path) -> bool:
    """Takes away what others may do with it; whether there was something. Raises NotPrivate."""
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0):
        raise NotPrivate(
            f"{path} belongs to another user (number {found.st_uid}), who can read it: give it to"
            " the user that runs this, or choose another place"
        )
    if not found.st_mode & _OTHERS:
        return False
    wanted = stat.S_IMODE(found.st_mode) & ~_OTHERS
    try:
        path.chmod(wanted)
    except OSError as error:
        raise NotPrivate(
            f"{path} is open to other users, and that cannot be changed: {error.strerror}"
        ) from error
    if path.stat().st_mode & _OTHERS:
        raise NotPrivate(
            f"{path} is open to other users, and its file system keeps no permissions: choose"
            " another place"
        )
    return True


def close_mounted(path: Path) -> bool:
    """The same for a file that may have been mounted for us: a cluster or a service manager gives
    it to root, and lets a group of ours read it. That is as closed as it can be made from here."""
    try:
        return close_to_others(path)
    except NotPrivate:
        found = path.stat()
        is_ours = found.st_uid in (os.geteuid(), 0)
        is_our_groups = found.st_gid in (0, os.getegid(), *os.getgroups())
        if is_ours and is_our_groups and not found.st_mode & _ALL_BUT_GROUPS_READING:
            return False
        raise


def only_ours(path: Path) -> str | None:
    """Why somebody else could have written this file, or could put another in its place; None when
    nobody can."""
    real = path.resolve()
    for place in dict.fromkeys((path.parent.resolve(), real.parent, real)):
        found = place.stat()
        if found.st_uid not in (os.geteuid(), 0):
            return f"{place} belongs to another user (number {found.st_uid})"
        is_sticky_folder = stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX)
        if found.st_mode & 0o022 and not is_sticky_folder:
            return f"{place} can be written by others (chmod go-w {place})"
    return None
