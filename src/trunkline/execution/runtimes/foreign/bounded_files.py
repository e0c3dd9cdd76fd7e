"""Files of other programs, read with care: only regular ones below a folder, and only so much.

A link that leads out of the folder is not followed, a pipe is not waited for, a line that is too
long is skipped, and what is torn is somebody else's to mend.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trunkline import limits

FILES_MAX = 5_000  # of one program, those of the newest folders
FILE_BYTES_MAX = 64 * limits.MIB  # of a larger one, the newest part
LINE_BYTES_MAX = 8 * limits.MIB


class Found(NamedTuple):
    path: Path
    size: int
    changed_ms: int


def files_below(base: Path, is_wanted: Callable[[str], bool], depth: int = 1) -> list[Found]:
    """The wanted files at that depth below the folder, the newest names first where there are too
    many. Folders that cannot be read are as if they were empty."""
    found: list[Found] = []
    folders = [(str(base), depth)]
    looked_at = 0
    while folders and len(found) < FILES_MAX and looked_at < 2 * FILES_MAX:
        folder, left = folders.pop()
        looked_at += 1
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError:
            continue
        if left > 1:
            folders += [
                (f"{folder}/{name}", left - 1) for name in names if _is_folder(folder, name)
            ]
            continue
        wanted = (f"{folder}/{name}" for name in reversed(names) if is_wanted(name))
        found += [one for path in wanted if (one := _regular(path)) is not None]
    return found[:FILES_MAX]


def _is_folder(folder: str, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(f"{folder}/{name}").st_mode)
    except OSError:
        return False


def _regular(path: str) -> Found | None:
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(seen.st_mode):
        return None
    return Found(Path(path), seen.st_size, int(seen.st_mtime * 1000))


def records(
    path: Path, bytes_max: int = FILE_BYTES_MAX, *markers: bytes
) -> Iterator[dict[str, Any]]:
    """The objects of a JSON lines file, of its newest part where it is too large. `markers`: only
    lines with one of them are read at all. What is no object is skipped."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(handle, "rb") as file:
        try:
            seen = os.fstat(handle)
            if not stat.S_ISREG(seen.st_mode):
                return
            if seen.st_size > bytes_max:
                file.seek(seen.st_size - bytes_max)
                file.readline(bytes_max)  # the rest of a line that began before
            for line in _lines(file, bytes_max):
                if markers and not any(marker in line for marker in markers):
                    continue
                if (record := _object(line)) is not None:
                    yield record
        except OSError:
            return


def _lines(file: Any, bytes_max: int) -> Iterator[bytes]:
    """`bytes_max`: a file that grows meanwhile is not read for ever."""
    left = bytes_max
    is_rest = False
    while left > 0 and (line := file.readline(min(left, LINE_BYTES_MAX))):
        left -= len(line)
        is_whole = line.endswith(b"\n")
        if not is_rest and (is_whole or len(line) < LINE_BYTES_MAX):
            yield line
        is_rest = not is_whole


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        return None
    return record if isinstance(record, dict) else None
