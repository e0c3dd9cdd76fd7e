"""A PostgreSQL database has one control plane at a time, and none that is gone keeps others out."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from tests.support.eventually import eventually, until
from tests.support.proxy import CuttableProxy
from tests.unit.control.postgres import Postgres
from trunkline.control.errors import Conflict, Overtaken, Unavailable
from trunkline.control.log.postgres_segments import PostgresSegments
from trunkline.control.server import ServerInfo, serve
from trunkline.control.settings import Settings
from trunkline.control.store.database_lock import held
from trunkline.control.store.engine import Store, close_engine, open_engine

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


@pytest.fixture
async def proxy(postgres: Postgres) -> AsyncIterator[CuttableProxy]:
    async with CuttableProxy(postgres.socket) as made:
        yield made


def through(proxy: CuttableProxy, url: str) -> str:
    there = make_url(url)
    return f"postgresql+asyncpg://{there.username}@127.0.0.1:{proxy.port}/{there.database}"


async def test_a_connection_that_is_dead_without_a_word_is_noticed(
    url: str, proxy: CuttableProxy, watcher: asyncpg.Connection
) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    place = through(proxy, url)
    async with held(place, told.put_nowait, retry_s=0.01, probe_s=0.05, answer_s=0.2):
        pid, before = await watcher.fetchval(_HELD), proxy.connections
        proxy.stall()
        await until(lambda: proxy.connections, lambda many: many > before + 1)
        assert await watcher.fetchval(_HELD) == pid  # the database does not know it yet
        assert told.empty()
        await watcher.execute("SELECT pg_terminate_backend($1)", pid)
        async with held(url, never):
            proxy.mend()
            assert (await told.get()).startswith("another control plane (trunkline ")


async def test_a_dead_connection_keeps_nobody_from_ending(url: str, proxy: CuttableProxy) -> None:
    async with held(through(proxy, url), never, retry_s=0.01, probe_s=0.05, answer_s=60.0):
        proxy.stall()
        await asyncio.sleep(0.2)  # so that it may be asking; the end holds in any case
    proxy.mend()


async def test_one_that_came_back_in_time_holds_it_as_before(
    url: str, proxy: CuttableProxy, watcher: asyncpg.Connection
) -> None:
    place = through(proxy, url)
    async with held(place, never, retry_s=0.01, probe_s=0.05, answer_s=0.2):
        pid, before = await watcher.fetchval(_HELD), proxy.connections
        proxy.stall()
        await until(lambda: proxy.connections, lambda many: many > before)
        proxy.mend()

        async def holder() -> int | None:
            found: int | None = await watcher.fetchval(_HELD)
            return found

        await eventually(holder, lambda one: one not in (None, pid))


@pytest.mark.skipif(sys.platform != "linux", reason="the options are Linux's")
async def test_every_connection_to_a_database_is_found_dead_by_the_system(
    url: str, proxy: CuttableProxy
) -> None:
    """And so asyncpg still has a transport whose socket can be told that."""
    engine = open_engine(through(proxy, url))
    async with engine.connect():
        [connected] = sockets_to(proxy.port)
        with connected as one:
            assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
            assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 10
            assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    await close_engine(engine)


async def test_the_database_gives_up_on_every_connection_that_says_nothing(url: str) -> None:
    """On one that is cut off, and on one that stands still in the middle of a transaction."""
    engine = open_engine(url)
    async with engine.connect() as connection:
        query = text("SELECT name, reset_val FROM pg_settings WHERE source = 'session'")
        here = {name for name, _ in await connection.execute(query)}
        timeout = await connection.scalar(text("SHOW idle_in_transaction_session_timeout"))
    assert here >= {f"tcp_{name}" for name in ("keepalives_idle", "user_timeout")}
    assert timeout == "1min"
    await close_engine(engine)


async def test_a_transaction_that_the_database_gave_up_on_is_refused_and_the_next_goes_well(
    url: str, watcher: asyncpg.Connection
) -> None:
    """As after a host that was halted and goes on."""
    store = await Store.open(url)

    async def halted_in_a_transaction() -> None:
        async with store.write() as connection:
            pid = await connection.scalar(text("SELECT pg_backend_pid()"))
            await connection.execute(text("SET idle_in_transaction_session_timeout = 1"))
            alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
            await eventually(lambda: watcher.fetchval(alive, pid), lambda count: count == 0)
            await connection.execute(text("SELECT 1"))

    with pytest.raises(Unavailable) as refused:
        await halted_in_a_transaction()
    assert refused.value.code == "DATABASE_UNREACHABLE"
    async with store.write() as connection:
        assert await connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == "1min"
    await store.close()


def sockets_to(port: int) -> list[socket.socket]:
    """Of this process, each once more."""
    found = []
    for number in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # it is closed by now, or has no other end
            if number.readlink().name.startswith("socket:"):
                one = socket.socket(fileno=os.dup(int(number.name)))
                with one as peer:
                    if peer.getpeername()[1:2] == (port,):
                        found.append(one.dup())
    return found


async def test_a_server_whose_log_somebody_else_has_opened_ends_with_an_error(
    url: str, tmp_path: Path
) -> None:
    """However that came about: the lock would have kept it away."""
    settings = Settings(data=str(tmp_path / "data"), database_url=url, port=0)
    ready: asyncio.Queue[ServerInfo] = asyncio.Queue()
    serving = asyncio.create_task(serve(settings, ready.put_nowait))
    login = (await ready.get()).login_url
    other = await PostgresSegments.open(url)
    with suppress(aiohttp.ClientError):  # it may have noticed already
        async with aiohttp.ClientSession() as http, http.get(login) as refused:
            assert refused.status == 503
    with pytest.raises(Overtaken, match="another control plane has taken over the database"):
        await serving
    await other.close()


async def test_a_database_that_is_away_is_named() -> None:
    with pytest.raises(Unavailable, match=r"does not answer \(postgresql://127\.0\.0\.1:1/none\)"):
        async with held("postgresql+asyncpg://nobody@127.0.0.1:1/none", never):
            pass
