"""Whether anything can be written now, and why not: the log, the records, the room on the disk.

New work asks here before it begins, so that it is refused whole and never begun by half. What runs
already goes on as far as it can: the log waits for its disk by itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from trunkline.control.store import causes

_TRIED_AGAIN_SWEEPS = 10
"""How long a failed write keeps others from trying, where the disk cannot be looked at."""


class Log(Protocol):
    @property
    def stalled(self) -> str | None: ...


class Records(Protocol):
    trouble: str | None


class Storage:
    """`folder`: of the databases, if they are files."""

    def __init__(
        self,
        log: Log,
        records: Records,
        folder: Path | None,
        look: Callable[[Path, int], str | None] = causes.state_of,
    ) -> None:
        self._log = log
        self._records = records
        self._folder = folder
        self._look = look
        self._disk: str | None = None
        self._sweeps = 0

    @property
    def cause(self) -> str | None:
        """Why nothing can be written; None while all is well."""
        return self._log.stalled or self._records.trouble or self._disk

    def check(self, *, is_new: bool = True) -> None:
        """Raises NoRoom or Unavailable. A slow disk is waited for; what ends work or makes room
        (not `is_new`) is tried as long as the log is written."""
        cause = self.cause if is_new else self._log.stalled
        if cause is not None and cause != causes.SLOW_DISK:
            raise causes.refusal(cause)

    def sweep(self) -> None:
        """Once a second."""
        if self._folder is not None:
            self._disk = self._look(self._folder, causes.ROOM_BYTES_MIN)
        self._sweeps = 0 if self._records.trouble is None else self._sweeps + 1
        if self._sweeps > (_TRIED_AGAIN_SWEEPS if self._disk or self._folder is None else 0):
            self._records.trouble, self._sweeps = None, 0
