"""Files as tools use them: which they may touch, reading and writing one, showing a part of it.

A path is judged by where it leads, links followed. This keeps an agent to its own place by
default; what `bash` may do is a question of approval, not of paths.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.files import write_atomic
from trunkline.execution.json_object import Json
from trunkline.execution.texts import shortened

FILE_BYTES_MAX = 10 * limits.MIB  # read or written by a tool

PATH: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": limits.FILE_PATH_CHARS_MAX,
    "description": "Relative to the workspace.",
}
"""In the schema of a tool's arguments."""


class Paths:
    """What a session may touch: the folder that it works in, and to read the skills and the files
    that people sent (`received`)."""

    def __init__(self, workspace: Path, skills: Path, received: Path | None = None) -> None:
        self.workspace = workspace
        self._readable = (workspace, skills, *([] if received is None else [received]))

    def readable(self, text: str) -> Path:
        """The file or folder that a path means, for reading. Raises ToolError outside."""
        return self._inside(text, self._readable)

    def writable(self, text: str) -> Path:
        return self._inside(text, (self.workspace,))

    def may_read(self, text: str) -> bool:
        try:
            self.readable(text)
        except ToolError:
            return False
        return True

    def touched(self, text: str) -> tuple[str, ...]:
        """A path as the order of calls knows it; none for what no tool would take."""
        try:
            return (str(self.readable(text)),)
        except ToolError:
            return ()

    def shown(self, path: Path) -> str:
        """A path as people and models see it: short inside the workspace."""
        root = self.workspace.resolve()
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)

    def _inside(self, text: str, roots: tuple[Path, ...]) -> Path:
        places = "the workspace and the skills" if len(roots) > 1 else "the workspace"
        return inside(text, self.workspace, roots, places)


def inside(text: str, base: Path, roots: Sequence[Path], places: str) -> Path:
    """Where a path leads, links followed, from `base`. Raises ToolError outside of `roots`, which
    people call `places`."""
    name = repr(shortened(text, 200))
    if not text or len(text) > limits.FILE_PATH_CHARS_MAX or "\0" in text:
        raise ToolError(f"{name} is no usable path")
    try:
        path = (base / text).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, bad names
        raise ToolError(f"{name} is no usable path") from error
    if not any(path.is_relative_to(root.resolve()) for root in roots):
        raise ToolError(f"{name} is outside of {places}, and only those may be used here")
    return path


_NEW_FILE_MODE = 0o644
_SNIFF_BYTES = 8 * 1024


def read_text(path: Path, shown: str) -> str:
    """The text of a file. Raises ToolError for whatever is no text file of bearable size."""
    return text_of(read_bytes(path, shown), shown)


def text_of(data: bytes, shown: str) -> str:
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
            data = file.read(FILE_BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    if len(data) > FILE_BYTES_MAX:
        size = f"{found.st_size} bytes, more than {FILE_BYTES_MAX}"
        raise ToolError(f"{shown} is too large ({size}); look at parts of it with bash")
    return data


def write_text(path: Path, text: str, shown: str) -> bool:
    """Puts a text in place of a file, which keeps its mode; says whether the file is new."""
    data = text.encode()
    if len(data) > FILE_BYTES_MAX:
        raise ToolError(f"the text has {len(data)} bytes, more than {FILE_BYTES_MAX}")
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


def is_there(path: Path) -> bool:
    try:
        return _mode(path) is not None
    except OSError:  # no name that a file could have
        return False


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None
