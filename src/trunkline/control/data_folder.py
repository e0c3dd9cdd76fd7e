"""The data folder: closed to other users, and one server's at a time.

Called before anything in it is opened. The lock is the kernel's and ends with the process, however
that ends; what is written beside it only tells people who holds it.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import structlog

from trunkline.control.backup import swap
from trunkline.control.errors import Conflict, Unavailable
from trunkline.control.machines.homes import OLD
from trunkline.control.settings import Settings
from trunkline.places import read_server_file
from trunkline.private_files import (
    NotPrivate,
    close_files,
    close_mounted,
    close_to_others,
    make_folder,
)

_log = structlog.get_logger(__name__)

LOCK = "server.lock"
_PID_CHARS_MAX = 20
_LOCK_TRIES = 5
_LOCK_PAUSE_S = 0.02


def prepare(settings: Settings) -> None:
    """Makes the folder, or closes what an earlier start or somebody's umask left open. Unavailable
    where that cannot be done."""
    folder = settings.data_dir
    try:
        mended = [folder] if make_folder(folder) else []
        mended += close_files(folder)
        if settings.keys_place.is_file() and close_mounted(settings.keys_place):
            mended.append(settings.keys_place)
        for inner in (settings.keys_place, folder / OLD, settings.machines_dir):
            if inner.is_dir():
                mended += [inner] if close_to_others(inner) else []
                mended += close_files(inner)
    except NotPrivate as error:
        raise Unavailable(str(error), code="NOT_PRIVATE") from error
    except OSError as error:
        reason = f"{error.filename or folder}: {error.strerror}"
        raise Unavailable(f"the data folder cannot be used: {reason}") from error
    for path in mended:
        _log.warning("was open to other users, and is closed to them now", path=str(path))


@contextmanager
def held(settings: Settings) -> Iterator[None]:
    """Holds the folder for this server, and finishes a restore that was interrupted. Conflict,
    which names the other, when one runs there."""
    prepare(settings)
    folder = settings.data_dir
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _is_locked(handle):
            raise Conflict(_who_holds(folder, handle), code="DATA_IN_USE")
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        swap.finish(folder)
        yield
    finally:
        os.close(handle)  # which also unlocks


def is_held(folder: Path) -> bool:
    """Whether a server runs with this folder now."""
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _is_locked(handle: int) -> bool:
    """Tried a few times: whoever only looks whether a server runs holds it for a moment."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
        else:
            return True
    return False


def _who_holds(folder: Path, handle: int) -> str:
    pid = os.pread(handle, _PID_CHARS_MAX, 0).decode("ascii", "replace")
    where = ""
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        server = read_server_file(folder)
        if server is not None and str(server.pid) == pid:  # not what a killed one left
            where = f" at {server.url}"
    return (
        f"another server (process {pid or 'unknown'}{where}) runs with the data folder {folder}:"
        " stop it, or choose another folder with --data"
    )
