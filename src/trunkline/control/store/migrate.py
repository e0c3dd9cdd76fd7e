"""Brings a database to the newest schema with Alembic, at every start.

Two branches, `records` and `log`: embedded they live in two files, on PostgreSQL in one database.
"""

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

_SCRIPTS = Path(__file__).parent / "migrations"

HEADS = {"records": "records_0013", "log": "log_0002"}
"""The newest revision of each branch."""


async def upgrade(engine: AsyncEngine, branch: str) -> None:
    async with engine.begin() as connection:
        if not await connection.run_sync(is_current, branch):
            await connection.run_sync(_upgrade, branch)


def is_current(connection: Connection, branch: str) -> bool:
    """Nearly always so, and then Alembic, half a second of imports, is not needed."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    versions = connection.scalars(text("SELECT version_num FROM alembic_version"))
    return HEADS[branch] in versions.all()


def _upgrade(connection: Connection, branch: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, f"{branch}@head")
