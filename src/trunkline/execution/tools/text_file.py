"""Reading and writing one file for a tool: bounded, text only, never half written."""

import os
import stat
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.files import write_atomic

_NEW_FILE_MODE = 0o644
_SNIFF_BYTES = 8 * 1024


def read_text(path: Path, shown: str) -> str:
    """The text of a file. Raises ToolError for whatever is no text file of bearable size."""
    data = read_bytes(path, shown)
    if b"\0" in data[:_SNIFF_BYTES]:
        raise ToolError(f"{shown} is a binary file of {len(data)} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ToolError(f"{shown} is not UTF-8 text ({len(data)} bytes)") from error


def read_bytes(path: Path, shown: str) -> bytes:
    try:
        # Not waiting for whoever writes to a pipe; a link that was just put there is not followed.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ToolError(f"there is no file {shown}") from error
    except OSError as error:
        raise ToolError(f"{shown} cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a plain file"
            raise ToolError(f"{shown} is {kind}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limits.FILE_BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    if len(data) > limits.FILE_BYTES_MAX:
        size = f"{found.st_size} bytes, more than {limits.FILE_BYTES_MAX}"
        raise ToolError(f"{shown} is too large ({size}); look at parts of it with bash")
    return data


def write_text(path: Path, text: str, shown: str) -> bool:
    """Puts a text in place of a file, which keeps its mode; says whether the file is new."""
    data = text.encode()
    if len(data) > limits.FILE_BYTES_MAX:
        raise ToolError(f"the text has {len(data)} bytes, more than {limits.FILE_BYTES_MAX}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = _mode(path)
        if mode is not None and not stat.S_ISREG(mode):
            raise ToolError(f"{shown} is not a plain file")
        write_atomic(path, data, _NEW_FILE_MODE if mode is None else stat.S_IMODE(mode))
    except (FileExistsError, NotADirectoryError) as error:
        raise ToolError(f"{shown} cannot be written: a part of its path is a file") from error
    except OSError as error:
        raise ToolError(f"{shown} cannot be written: {error.strerror}") from error
    return mode is None


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None
