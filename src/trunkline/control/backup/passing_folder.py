"""A folder for what is unpacked only to be looked at: gone at the end, or at the next one's start.

It holds keys and records, so one that a killed process has left must not stay. The lock on the
folder is the kernel's and ends with the process, however that ends.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = ".trunkline-verify-"


@contextmanager
def passing_folder(where: Path) -> Iterator[Path]:
    """A new one in that folder. Those of ours there that nobody uses any more are removed."""
    for left in where.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            _remove_unused(left)
    folder, handle = _made(where)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(handle)


def _made(where: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=where))
        # Another who starts now may take it for one that was left, until it is locked.
        with suppress(OSError):
            if (handle := _locked(folder)) is not None:
                return folder, handle


def _remove_unused(folder: Path) -> None:
    handle = _locked(folder)
    if handle is None:
        return
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            shutil.rmtree(folder)
    finally:
        os.close(handle)


def _locked(folder: Path) -> int | None:
    """None while another holds it, or when it is not there any more. OSError for what is no folder
    of ours: nobody's link is followed."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_nlink:
            return handle
    except BlockingIOError:
        pass
    os.close(handle)
    return None
