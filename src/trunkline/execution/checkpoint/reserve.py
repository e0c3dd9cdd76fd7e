"""Room on the disk that a session holds, so that what it has done can still be saved when there is
no other left.

Held while the session's process runs. Before a model is asked the room is looked for: what the
model says could not be kept without it. A write that finds the disk full gets it, once.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from trunkline.execution.errors import TurnError
from trunkline.execution.files import remove

RESERVE_BYTES = 512 * 1024
_BESIDE_BYTES = 128 * 1024  # for the files that people read
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

T = TypeVar("T")


def is_full(error: BaseException) -> bool:
    """Whether it says that there is no room: on the disk, in a quota, or for a file as large; or
    that nothing may be written at all."""
    return isinstance(error, OSError) and error.errno in _FULL


def disk_full(path: Path, error: OSError | None = None) -> TurnError:
    why = f" ({error.strerror})" if error is not None else ""
    return TurnError(
        "DISK_FULL",
        f"There is no room left on the machine's disk{why}: nothing more can be saved, so the "
        f"model is not asked. Make room below {path} and say it again.",
    )


def check_room(folder: Path) -> None:
    """Raises DISK_FULL when there is not even room for the small files of a turn."""
    free = os.statvfs(folder)
    blocks = free.f_bfree if os.geteuid() == 0 else free.f_bavail
    if blocks * free.f_frsize < _BESIDE_BYTES:
        raise disk_full(folder)


class Reserve:
    """The held room of one session."""

    def __init__(self, folder: Path, least_bytes: int = RESERVE_BYTES) -> None:
        self._folder = folder
        self._path = folder / ".reserve"
        self._bytes = least_bytes

    def need(self, size: int) -> None:
        """So much was saved at once: twice that is held from the next look on."""
        self._bytes = max(self._bytes, 2 * size)

    def hold(self) -> None:
        """Raises DISK_FULL when there is not so much room."""
        try:
            check_room(self._folder)
            held = self._path.stat().st_size if self._path.exists() else 0
            if held < self._bytes:
                self._allocate()
        except OSError as error:
            if not is_full(error):
                raise
            raise disk_full(self._folder, error) from error

    def save(self, write: Callable[[], T]) -> T:
        """Writes, in the held room if there is no other. Raises DISK_FULL."""
        try:
            return write()
        except OSError as error:
            if not is_full(error):
                raise
            if not self.release():
                raise disk_full(self._folder, error) from error
        try:
            return write()
        except OSError as error:
            if not is_full(error):
                raise
            raise disk_full(self._folder, error) from error

    def release(self) -> bool:
        """Gives the room back; False when none was held."""
        if not self._path.exists():
            return False
        remove(self._path)
        return True

    def _allocate(self) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.posix_fallocate(handle, 0, self._bytes)
        except OSError:
            remove(self._path)
            raise
        finally:
            os.close(handle)
