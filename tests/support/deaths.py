"""Deaths of a process at a step of its choice: `kill -9` from inside, and how it ended.

A step is whatever the operating system or a database is asked to change: a file that is made,
renamed or removed, a statement that writes, a commit.
"""

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

_FILES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect")
_READING = ("SELECT", "PRAGMA", "EXPLAIN")
_NO_FOLDER = -1
"""What is named by its whole path."""


def die_at(step: int, folder: Path) -> None:
    """Ends this process at that step of its work in a folder."""
    steps = count()

    def stepped() -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def audited(name: str, arguments: tuple[Any, ...]) -> None:
        is_beneath = name in ("os.remove", "os.rmdir") and arguments[1] != _NO_FOLDER
        if name in _FILES and (is_beneath or str(folder) in str(arguments[0])):
            if name == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR):
                return
            stepped()

    def executed(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.lstrip().upper().startswith(_READING):
            stepped()

    sys.addaudithook(audited)
    event.listen(Engine, "before_cursor_execute", executed)
    event.listen(Engine, "commit", lambda _connection: stepped())


def forked(work: Callable[[], None]) -> int:
    """How a process ended that did this."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            sys.stderr.flush()
            os._exit(0 if sys.exc_info()[0] is None else 1)
    return os.waitpid(pid, 0)[1]
