"""What the running turn has begun, on disk: no tool call is made twice, no question forgotten.

A turn that waits for a person goes on in the next process, and calls that ran beside the question
may have been cut off by the end of the last one. Those that finished are in the checkpoint; of the
others it is known here that they began, and no more. A sub-agent's task goes on from its own
checkpoint.
"""

from contextlib import suppress
from functools import partial
from pathlib import Path

import structlog

from trunkline.execution.checkpoint.reserve import Reserve
from trunkline.execution.files import append
from trunkline.execution.llm.history import safe_id

_log = structlog.get_logger(__name__)

_FILE = "begun_calls"
_BYTES_MAX = 1_000_000
_CALL, _TASK, _ASKED = "+~?"


class Begun:
    """Of one session. Without a folder nothing is saved. `reserve`: room that is held for it."""

    def __init__(self, folder: Path | None = None, reserve: Reserve | None = None) -> None:
        self._path = None if folder is None else folder / _FILE
        self._reserve = reserve
        self._before: set[str] = set()

    def begin_turn(self) -> None:
        self._before = set()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def take_up(self) -> None:
        """Goes on with the turn of the last process."""
        self._before = set(self._lines())

    def asked(self) -> list[str]:
        """Ids of the questions that the last process has shown."""
        return [line[1:] for line in self._lines() if line.startswith(_ASKED)]

    def is_of_last_process(self, call_id: str) -> bool:
        """It began there; nobody knows how far it came, unless its result is in the checkpoint."""
        return _CALL + safe_id(call_id) in self._before

    def is_task_of_last_process(self, call_id: str) -> bool:
        return _TASK + safe_id(call_id) in self._before

    def add(self, call_id: str, *, is_task: bool) -> None:
        self._write((_TASK if is_task else _CALL) + safe_id(call_id))

    def ask(self, request_id: str) -> None:
        self._write(_ASKED + request_id)

    def _write(self, line: str) -> None:
        """Raises DISK_FULL: what cannot be noted is not begun, it might be done twice."""
        if self._path is None:
            return
        write = partial(append, self._path, line + "\n")
        try:
            write() if self._reserve is None else self._reserve.save(write)
        except OSError as error:
            _log.warning("what a turn begins cannot be noted", reason=str(error))

    def _lines(self) -> list[str]:
        if self._path is None:
            return []
        try:
            with self._path.open(encoding="utf-8", errors="replace") as file:
                return file.read(_BYTES_MAX).splitlines()
        except OSError:
            return []
