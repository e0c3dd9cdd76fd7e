"""Files that a killed process leaves whole: replaced at once, appended at once, locked.

For every part of the execution plane. Knows bytes and paths, not what they mean. A path may be
plain text: for a name that is used once, a `Path` would leave its traces in Python's table of all
names, of which every session would then get a copy of its own.

Nothing here calls fsync. What a process has written is in the kernel's hands and survives the
process, which is the death that happens daily. After a power cut a file may be torn; its readers
skip what is torn, and the control plane holds a snapshot.
"""

# ruff: noqa: PTH105, PTH108, PTH118, PTH119

import asyncio
import errno
import fcntl
import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import structlog

from trunkline.execution.errors import LockBusy

T = TypeVar("T")
_log = structlog.get_logger(__name__)

FILE_LOCK_WAIT_S = 5.0  # another writer holds the lock for less than a millisecond
FILE_LOCK_POLL_S = 0.002

_TEMPORARY = ".tmp"
_numbers = itertools.count()


def write_atomic(
    path: Path | str, data: bytes | str, mode: int = 0o600, spare: Path | str | None = None
) -> None:
    """Readers see the old file or the new one, whenever this process dies.

    `mode` is what the file has afterwards, whatever the umask and the old file say. `spare` is a
    file that is no longer wanted, to be written over: making a new one is what takes longest.
    """
    # Two writers never share a temporary file: the one with the last rename wins, whole. A file
    # of that name can only be from a dead process that had our number.
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{next(_numbers)}{_TEMPORARY}")
    if spare is not None:
        with suppress(FileNotFoundError):
            os.replace(spare, temporary)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT, mode)
    try:
        try:
            os.fchmod(handle, mode)
            _write_all(handle, _bytes(data))
        finally:
            os.close(handle)
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise


def save_json(path: Path, value: Any, what: str) -> OSError | None:
    """Writes what this process has in memory too: a full disk makes the next one forget, and must
    not end what runs. `what` it is, for the log. Returns what went wrong."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(path, msgspec.json.encode(value))
    except OSError as error:
        _log.error(f"{what} cannot be written", file=str(path), problem=str(error))
        return error
    return None


def load_json(path: Path, kind: type[T], what: str) -> T | None:
    """What an earlier process saved; None when it is missing or unreadable."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        _log.warning(f"{what} cannot be read", file=str(path), problem=str(error))
        return None


def remove(path: Path | str) -> None:
    """Whether or not it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def append(path: Path | str, data: bytes | str, bytes_max: int | None = None) -> bool:
    """One write at the end: the kernel keeps appends of several writers apart.

    False, and nothing written, when the file would then be larger than `bytes_max`.
    """
    raw = _bytes(data)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        before = os.fstat(handle).st_size
        if bytes_max is not None and before + len(raw) > bytes_max:
            return False
        # A rest written by a second call could land behind another writer's data.
        if os.write(handle, raw) != len(raw):
            os.ftruncate(handle, before)
            name = os.path.basename(path)
            why = f"the disk took only a part of what was appended to {name}"
            raise OSError(errno.ENOSPC, why)
    finally:
        os.close(handle)
    return True


def read_head(
    path: Path | str, bytes_max: int, *, follows_links: bool = False
) -> tuple[bytes, bool]:
    """The first bytes of a file, none when it is missing; and whether that is all of it. A link in
    its place is no file of ours: what runs in a session may have put it there."""
    try:
        with open(path, "rb", opener=None if follows_links else _without_links) as file:
            data = file.read(bytes_max + 1)
    except OSError as error:
        return _missing(error)
    return data[:bytes_max], len(data) <= bytes_max


def read_tail(path: Path, bytes_max: int) -> tuple[bytes, bool]:
    """The last bytes of a file, as `read_head` has the first."""
    try:
        with open(path, "rb", opener=_without_links) as file:
            size = os.fstat(file.fileno()).st_size
            if size > bytes_max:
                file.seek(size - bytes_max)
            return file.read(bytes_max), size <= bytes_max
    except OSError as error:
        return _missing(error)


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _missing(error: OSError) -> tuple[bytes, bool]:
    if error.errno in (errno.ENOENT, errno.ELOOP):
        return b"", True
    raise error


def sweep(folder: Path) -> None:
    """Removes what writers that were killed have left. Only while nobody else writes here."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


@asynccontextmanager
async def locked(path: Path, wait_s: float = FILE_LOCK_WAIT_S) -> AsyncIterator[None]:
    """Holds a lock file against other processes, and against other tasks of this one.

    Raises LockBusy after `wait_s`. The file stays: if it were removed, two could each hold a lock
    on a different one.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = asyncio.get_running_loop().time() + wait_s
        while not _lock(handle):
            if asyncio.get_running_loop().time() > deadline:
                raise LockBusy(f"{path.name} is locked by another process that does not let go")
            await asyncio.sleep(FILE_LOCK_POLL_S)
        yield
    finally:
        os.close(handle)  # which also unlocks


def _lock(handle: int) -> bool:
    # Never waits in the kernel: a holder that is stopped would stop our loop too.
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    # At the end and not at the start: ext4 hurries a file to the disk that was emptied first.
    os.ftruncate(handle, len(data))


def _bytes(data: bytes | str) -> bytes:
    # Models make lone surrogates now and then; UTF-8 has none.
    return data.encode("utf-8", "replace") if isinstance(data, str) else data
