"""A PostgreSQL database has one control plane at a time, and none that is gone keeps others out."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.support.eventually import eventually
from tests.unit.control.postgres import Postgres
from trunkline.control.errors import Conflict, Unavailable
from trunkline.control.server import serve
from trunkline.control.settings import Settings
from trunkline.control.store.database_lock import held

pytestmark = pytest.mark.slow

_HELD = "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"


@pytest.fixture
async def url(postgres: Postgres) -> AsyncIterator[str]:
    async with postgres.database() as url:
        yield url


@pytest.fixture
async def watcher(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    yield connection
    await connection.close()


def never(why: str) -> None:
    raise AssertionError(why)


async def test_the_second_is_refused_by_name_until_the_first_ends(url: str, tmp_path: Path) -> None:
    settings = Settings(data=str(tmp_path / "data"), database_url=url, port=0)
    async with held(url, never):
        with pytest.raises(Conflict, match=r"^another control plane \(trunkline .* process") as one:
            await serve(settings, lambda _info: never("it was started"))
    assert one.value.code == "DATABASE_IN_USE"
    assert "\n" not in one.value.message
    async with held(url, never):
        pass


async def test_another_schema_is_another_database(url: str, watcher: asyncpg.Connection) -> None:
    await watcher.execute("CREATE SCHEMA IF NOT EXISTS other")
    role = await watcher.fetchval("SELECT current_user")
    async with held(url, never):
        await watcher.execute(f"ALTER ROLE {role} SET search_path = other")
        try:
            async with held(url, never):
                assert len(await watcher.fetch(_HELD)) == 2
        finally:
            await watcher.execute(f"ALTER ROLE {role} RESET search_path")


async def test_a_broken_connection_is_replaced(url: str, watcher: asyncpg.Connection) -> None:
    async with held(url, never, retry_s=0.01):
        before = await watcher.fetchval(_HELD)
        await watcher.execute("SELECT pg_terminate_backend($1)", before)

        async def holder() -> int | None:
            found: int | None = await watcher.fetchval(_HELD)
            return found

        await eventually(holder, lambda pid: pid not in (None, before))
    assert await watcher.fetchval(_HELD) is None


async def test_one_that_finds_another_in_its_place_is_told(
    url: str, watcher: asyncpg.Connection
) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with held(url, told.put_nowait, retry_s=0.01):
        [row] = await watcher.fetch(
            "SELECT classid::int, objid::int, pid FROM pg_locks WHERE locktype = 'advisory'"
        )
        # Waits for the lock, so that it has it before the first can come back.
        taking = asyncio.create_task(
            watcher.execute(f"SELECT pg_advisory_lock({row['classid']}, {row['objid']})")
        )
        other = await asyncpg.connect(url.replace("+asyncpg", ""))

        async def waiting() -> int:
            return int(await other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))

        await eventually(waiting, bool)
        await other.execute("SELECT pg_terminate_backend($1)", row["pid"])
        await taking
        assert (await told.get()).startswith("another control plane uses the database postgres")
        await other.close()


async def test_a_database_that_is_away_is_named() -> None:
    with pytest.raises(Unavailable, match=r"does not answer \(postgresql://127\.0\.0\.1:1/none\)"):
        async with held("postgresql+asyncpg://nobody@127.0.0.1:1/none", never):
            pass
