"""A canary for the private part of asyncpg that the stores use; the others are beside the door and
in `tests/unit/test_private_parts.py`, where a scan finds the uses."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace

import asyncpg
import pytest

from tests.support.proxy import CuttableProxy
from tests.unit.control.postgres import Postgres
from trunkline.control.store.postgres import SILENT_S, notice_silence

pytestmark = pytest.mark.slow


@pytest.fixture
async def connection(postgres: Postgres) -> AsyncIterator[asyncpg.Connection]:
    """Over TCP: a Unix socket's other end cannot be gone without a word."""
    async with CuttableProxy(postgres.socket) as proxy:
        made = await asyncpg.connect(
            host="127.0.0.1", port=proxy.port, user="postgres", database="postgres"
        )
        try:
            yield made
        finally:
            await made.close()


async def test_asyncpg_gives_its_connections_transport_so_that_silence_is_noticed(
    connection: asyncpg.Connection,
) -> None:
    broken = (
        "asyncpg has changed: `Connection._transport` is not the asyncio transport of its"
        " connection; `control/store/postgres.py` tells its socket there when a database that says"
        " nothing is gone, which TCP by itself notices after a quarter of an hour"
    )
    transport = getattr(connection, "_transport", None)
    assert isinstance(transport, asyncio.Transport), broken
    sock = transport.get_extra_info("socket")
    assert sock is not None, broken
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0
    asked: list[Callable[[asyncpg.Connection], Awaitable[object]]] = []
    notice_silence(SimpleNamespace(driver_connection=connection, run_async=asked.append))
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1, broken
    if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
        assert sock.getsockopt(socket.IPPROTO_TCP, option) == 1000 * SILENT_S, broken
    [ask] = asked
    await ask(connection)
    assert await connection.fetchval("SHOW idle_in_transaction_session_timeout") == "1min"
