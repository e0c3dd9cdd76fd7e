"""The databases of a running system as they were at one moment.

Whoever writes to a database holds its lock meanwhile. Here the locks of all of them are taken, a
view of each is opened, and the locks are let go, after a few milliseconds: so there is a moment at
which every view holds what was committed before it and nothing else. That is what `kill -9` at that
moment would have left, and a start after that loses nothing (docs/concepts/core.md). The views are
copied at leisure, beside the writers.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

_LOCK_WAIT_S = 30.0  # an upgrade of a large database takes long; a commit does not


@contextmanager
def one_moment(files: Sequence[Path]) -> Iterator[list[sqlite3.Connection]]:
    """Connections that read these databases, in their order, as they all were at one moment."""
    with ExitStack() as views:
        with ExitStack() as locks:
            for file in files:
                locks.enter_context(closing(_connect(file))).execute("BEGIN IMMEDIATE")
            found = [views.enter_context(closing(_connect(file))) for file in files]
            for view in found:
                view.execute("BEGIN")
                view.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the view
        yield found


def _connect(file: Path) -> sqlite3.Connection:
    # Not made where it is missing.
    uri = f"{file.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=_LOCK_WAIT_S, isolation_level=None)
