"""Brings a database to the newest schema with Alembic, at every start.

Two branches, `records` and `log`: embedded they live in two files, on PostgreSQL in one database. A
file is copied first (`backup`). The change of a branch is one transaction: whenever the process
dies, the database has the old schema or the new one.
"""

import asyncio
import sqlite3
from collections.abc import Collection
from contextlib import closing
from functools import cache
from pathlib import Path

import structlog
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from trunkline import __version__
from trunkline.control.errors import Unavailable
from trunkline.control.store import backup

_log = structlog.get_logger(__name__)

_SCRIPTS = Path(__file__).parent / "migrations"
_TELL_S = 2.0

HEADS = {"records": "records_0023", "log": "log_0004"}
"""The newest revision of each branch."""

VERSIONS = "SELECT version_num FROM alembic_version"
"""The revisions that a database has."""


async def upgrade(engine: AsyncEngine, branch: str, tell_s: float = _TELL_S) -> None:
    """Unavailable for a database of a newer version, and for one that cannot be copied. `tell_s`:
    between two words of a long one about how far it is."""
    async with engine.connect() as connection:
        found = revision(await connection.run_sync(versions), branch)
    if found == HEADS[branch]:
        return  # nearly always, and then Alembic, half a second of imports, is not needed
    file = backup.sqlite_file(engine.url)
    if found is not None and file is not None:
        copy = await asyncio.to_thread(backup.make, file, found)
        _log.warning("upgrading the database", old=found, new=HEADS[branch], copy=str(copy))
    elif found is not None:
        # Whoever runs PostgreSQL has copies of their own, and a failed upgrade changes nothing.
        _log.warning("upgrading the database, without a copy", old=found, new=HEADS[branch])
    async with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            # Python's SQLite begins no transaction for what changes tables.
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            # However long it thinks between two statements.
            await connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        await connection.run_sync(_upgrade, branch, tell_s)
    if found is not None:
        _log.info("the database is upgraded", new=HEADS[branch])


def versions(connection: Connection) -> list[str]:
    """The revisions that a database has, of both branches."""
    if not inspect(connection).has_table("alembic_version"):
        return []
    return list(connection.scalars(text(VERSIONS)))


def versions_of_file(path: Path) -> list[str]:
    """The same of a SQLite file that nobody may have opened; none if it is not there."""
    if not path.is_file():
        return []
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            return [row[0] for row in connection.execute(VERSIONS)]
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []  # it is new
            raise


def revision(found: Collection[str], branch: str) -> str | None:
    """Of these revisions that of the branch; None in a database that has none of it yet.
    Unavailable for what this version does not know."""
    for one in sorted(found):
        if one in _known():
            continue
        name = one.partition("_")[0]
        if name not in HEADS:
            raise Unavailable(
                f"the database has tables of another program (revision {one[:40]!r}): name an empty"
                " one, or another schema",
                code="DATABASE_FOREIGN",
            )
        raise Unavailable(
            f"the database was used by a newer Trunkline: its schema is {one[:40]}, and this"
            f" version, {__version__}, knows {HEADS[name]}. Install that version again, or go back"
            " with the copy that its upgrade made in backups/ (docs/operate/upgrade.md)",
            code="DATABASE_NEWER",
        )
    return next((one for one in found if one.startswith(f"{branch}_")), None)


@cache
def _known() -> frozenset[str]:
    return frozenset(path.stem for path in (_SCRIPTS / "versions").glob("*.py"))


def _upgrade(connection: Connection, branch: str, tell_s: float) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes |= {"connection": connection, "tell_s": tell_s}
    command.upgrade(config, f"{branch}@head")
