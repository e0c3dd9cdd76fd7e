"""A folder for what is unpacked only to be looked at: gone at the end, or at the next one's start.

It holds keys and records, so one that a killed process has left must not stay. The lock on the
folder is the kernel's and ends with the process, however that ends.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trunkline.control.errors import Unavailable

_PREFIX = ".trunkline-verify-"
_TRIES_MAX = 20  # each fails only where another starts at that very moment

Lock = Callable[[Path], int | None]


def locked(folder: Path) -> int | None:
    """None while another holds it, or when it is not there any more. OSError for what is no folder
    of ours: nobody's link is followed."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_nlink:
            return handle
    except BlockingIOError:
        pass
    except OSError:
        os.close(handle)
        raise
    os.close(handle)
    return None


@contextmanager
def passing_folder(where: Path, lock: Lock = locked) -> Iterator[Path]:
    """A new one in that folder. Those of ours there that nobody uses any more are removed. Raises
    Unavailable where none can be locked."""
    for left in where.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            _remove_unused(left, lock)
    folder, handle = _made(where, lock)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(handle)


def _made(where: Path, lock: Lock) -> tuple[Path, int]:
    why = "others take each folder that is made there"
    for _ in range(_TRIES_MAX):
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=where))
        try:
            # Another who starts now may take it for one that was left, until it is locked.
            if (handle := lock(folder)) is not None:
                return folder, handle
        except FileNotFoundError:
            continue  # and has removed it
        except OSError as error:  # this file system has no locks, or none to spare
            why = error.strerror or str(error)
            shutil.rmtree(folder, ignore_errors=True)
            break
    raise Unavailable(f"no folder can be locked in {where}: {why}")


def _remove_unused(folder: Path, lock: Lock) -> None:
    handle = lock(folder)
    if handle is None:
        return
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            shutil.rmtree(folder)
    finally:
        os.close(handle)
