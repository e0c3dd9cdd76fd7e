"""Upgrades an old database again and again, and dies in between: `kill -9` at every step in turn.

A program of its own, because it forks: `python -m tests.support.upgrade_crashes FOLDER`. Prints one
JSON object a death: what was left, and of some what the next start made of it.
"""

import asyncio
import hashlib
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.deaths import die_at, forked
from trunkline.control.store import backup
from trunkline.control.store.engine import Store, sqlite_url
from trunkline.control.store.migrate import versions_of_file

OLD = "records_0013"
_COLUMNS = "pinned", "archived", "last_activity_at", "last_turn_status", "last_turn_ended_at"
_DOWN = (
    "DROP INDEX sessions_listed",
    "ALTER TABLE turns DROP COLUMN said_id",
    "ALTER TABLE turns DROP COLUMN ended_id",
    *(f"ALTER TABLE sessions DROP COLUMN {name}" for name in _COLUMNS),
    "INSERT INTO orgs (id, name, created_at) VALUES ('kept', 'Kept', 1)",
    f"UPDATE alembic_version SET version_num = '{OLD}'",
)
_NEXT_START_EVERY = 3


def make_old(path: Path) -> None:
    """A database as an older version left it."""

    async def newest() -> None:
        await (await Store.open(sqlite_url(path))).close()

    asyncio.run(newest())
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in _DOWN:
            connection.execute(statement)


def _left(path: Path) -> dict[str, Any]:
    return {
        "version": versions_of_file(path),
        "copies": [versions_of_file(one) for one in backup.copies(path)],
        "schema": _schema(path),
        "is_well": all(_is_well(one) for one in (path, *backup.copies(path))),
    }


def _schema(path: Path) -> str:
    """The same for the same tables."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _is_well(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        kept = connection.execute("SELECT name FROM orgs").fetchall()
        [found] = connection.execute("PRAGMA integrity_check").fetchone()
    return found == "ok" and kept == [("Kept",)]


def _upgrade(path: Path) -> None:
    async def opened() -> None:
        await (await Store.open(sqlite_url(path))).close()

    asyncio.run(opened())


def main(folder: Path) -> None:
    old, warm = folder / "old.db", folder / "warm.db"
    make_old(old)
    shutil.copyfile(old, warm)
    _upgrade(warm)  # so that the children have everything imported
    for step in count():
        place = folder / str(step)
        place.mkdir()
        path = place / "trunkline.db"
        shutil.copyfile(old, path)

        def dying(place: Path = place, path: Path = path, step: int = step) -> None:
            die_at(step, place)
            _upgrade(path)

        end = forked(dying)
        told = {"step": step, "died": os.WIFSIGNALED(end), **_left(path)}
        if os.WIFSIGNALED(end) and step % _NEXT_START_EVERY == 0:
            told["next_start"] = forked(lambda path=path: _upgrade(path)) == 0  # type: ignore[misc]
            told["then"] = _left(path)
        print(json.dumps(told), flush=True)
        shutil.rmtree(place)
        if not os.WIFSIGNALED(end):
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
