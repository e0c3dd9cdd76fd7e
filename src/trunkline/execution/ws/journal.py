"""A file of lines that is only ever appended to, or replaced as a whole.

Plain writes without fsync: what was appended survives the death of this process, however it dies.
A line that a death or a full disk cut short is skipped by whoever decodes the lines.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import structlog

_log = structlog.get_logger(__name__)


class Journal:
    """One file. It exists once something was appended."""

    __slots__ = ("_fd", "_is_failing", "_is_torn", "_path", "bytes")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._is_torn = False
        self._is_failing = False
        self.bytes = 0

    def read(self) -> list[bytes]:
        """Every line, the last one too if it was cut short."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            _log.error("the outbox cannot be read", file=self._path.name, problem=str(error))
            return []
        self.bytes = len(data)
        self._is_torn = bool(data) and not data.endswith(b"\n")
        return [line for line in data.split(b"\n") if line]

    def append(self, line: bytes) -> None:
        """A full disk costs durability and nothing else: what is written here is in memory too."""
        whole = (b"\n" if self._is_torn else b"") + line + b"\n"
        try:
            written = os.write(self._open(), whole)
        except OSError as error:
            if not self._is_failing:
                _log.error("the outbox cannot be written", file=self._path.name, problem=str(error))
            self._is_failing = True
            return
        self._is_failing = False
        self.bytes += written
        self._is_torn = written < len(whole)

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Puts these lines in the place of all others, at once or not at all."""
        fresh = self._path.with_suffix(".new")
        data = b"".join(line + b"\n" for line in lines)
        try:
            fresh.touch(mode=0o600)
            fresh.write_bytes(data)
            fresh.replace(self._path)
        except OSError as error:
            _log.error("the outbox cannot be tidied", file=self._path.name, problem=str(error))
            return
        self.close()
        self.bytes, self._is_torn = len(data), False

    def clear(self) -> None:
        """Nothing of it is needed any more; more may come."""
        if not self.bytes:
            return
        try:
            os.ftruncate(self._open(), 0)
        except OSError as error:
            _log.error("the outbox cannot be cleared", file=self._path.name, problem=str(error))
            return
        self.close()
        self.bytes, self._is_torn = 0, False

    def remove(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self.bytes, self._is_torn = 0, False

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o600)
        return self._fd
