"""A file system of a few MiB for one process, without root: a tmpfs in a user namespace of its own.

It is the process's alone and goes with it; from outside it is reached through `/proc`.
"""

import errno
import functools
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

_MOUNT = 'mount -t tmpfs -o size=$0 tmpfs "$1" && shift && exec "$@"'
_TRY_S = 20


def command(folder: Path, size: str, *argv: str) -> list[str]:
    """Runs `argv`, in the same process, with such a file system at `folder`, which is there."""
    return ["unshare", "-Urm", "sh", "-c", _MOUNT, size, str(folder), *argv]


@functools.cache
def _problem() -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            tried = subprocess.run(
                command(Path(folder), "1m", "true"), capture_output=True, text=True, timeout=_TRY_S
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    return None if tried.returncode == 0 else tried.stderr.strip() or "unshare failed"


def needed() -> None:
    """Skips a test where there cannot be one."""
    if (problem := _problem()) is not None:
        pytest.skip(f"no file system of a process's own here (unshare, tmpfs): {problem}")


class SmallDisk:
    """The one of a process that runs."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.folder = Path(f"/proc/{pid}/root{folder}")
        self._fill = self.folder / "fill"

    def fill(self) -> None:
        """To the last byte."""
        handle = os.open(self._fill, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for size in (2**16, 2**12, 1):
                with suppress(_Full):
                    while True:
                        _write(handle, size)
        finally:
            os.close(handle)

    def free(self) -> None:
        self._fill.unlink()


class _Full(Exception):
    pass


def _write(handle: int, size: int) -> None:
    try:
        os.write(handle, bytes(size))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _Full from error
