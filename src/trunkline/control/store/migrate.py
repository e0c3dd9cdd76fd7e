"""Brings a database to the newest schema with Alembic, at every start.

Two branches, `records` and `log`: embedded they live in two files, on PostgreSQL in one database.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

_SCRIPTS = Path(__file__).parent / "migrations"


async def upgrade(engine: AsyncEngine, branch: str) -> None:
    async with engine.begin() as connection:
        await connection.run_sync(_upgrade, branch)


def _upgrade(connection: Connection, branch: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, f"{branch}@head")
