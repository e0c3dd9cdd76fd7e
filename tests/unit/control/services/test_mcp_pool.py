"""`mcp_call` against a real MCP server over streamable HTTP."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from sqlalchemy import update

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World
from tests.unit.control.services.mcp_server import running_server
from trunkline.control.access.keys import Keys
from trunkline.control.errors import LimitReached, NotFound, Timeout, TrunklineError
from trunkline.control.services.guarded_http import AddressGuard
from trunkline.control.services.mcp_pool import McpPool, PoolLimits
from trunkline.control.services.mcp_servers import McpServerInput, McpServers
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

LOOPBACK = "127.0.0.1"


@pytest.fixture
def store(sqlite_store: Store) -> Store:
    """Which database holds the records makes no difference here."""
    return sqlite_store


@pytest.fixture
def servers(store: Store, keys: Keys, clock: FakeClock) -> McpServers:
    return McpServers(store, keys, clock)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


async def remote(
    servers: McpServers, world: World, url: str, name: str = "tests", **more: Any
) -> str:
    given = McpServerInput(name=name, type="remote", url=url, **more)
    return (await servers.add(world.org, world.ann.user_id, given)).id


async def add(pool: McpPool, world: World, a: int = 1, b: int = 2, name: str = "tests") -> Any:
    result = await pool.call(world.org, world.ann.user_id, name, "add", {"a": a, "b": b})
    return result["structuredContent"]["result"]


async def test_a_tool_is_called_with_the_servers_own_credentials(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as server:
        await remote(servers, world, server.url, headers={"Authorization": "Bearer s3cret"})
        result = await pool.call(world.org, world.ann.user_id, "tests", "add", {"a": 1, "b": 2})
        assert result == {
            "content": [{"type": "text", "text": "3"}],
            "structuredContent": {"result": 3},
            "isError": False,
        }
        assert {request["authorization"] for request in server.requests} == {"Bearer s3cret"}
        await pool.close()


@pytest.mark.parametrize("json_response", [True, False])
async def test_calls_of_one_server_share_a_line(
    world: World, servers: McpServers, json_response: bool
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server(json_response=json_response) as server:
        await remote(servers, world, server.url)
        assert await asyncio.gather(*(add(pool, world, n, n) for n in range(20))) == [
            2 * n for n in range(20)
        ]
        assert pool.size == 1
        greetings = len(server.requests) - 20
        assert await add(pool, world) == 3
        assert len(server.requests) - 21 == greetings
        await pool.close()
        assert pool.size == 0


async def test_loopback_is_refused_unless_it_is_allowed(world: World, servers: McpServers) -> None:
    pool = McpPool(servers, AddressGuard(""))
    async with running_server() as server:
        await remote(servers, world, server.url)
        await remote(servers, world, f"http://localhost:{server.port}/mcp", "by-name")
        for name in ("tests", "by-name"):
            with pytest.raises(TrunklineError) as caught:
                await add(pool, world, name=name)
            assert caught.value.code == "MCP_ADDRESS_REFUSED"
        assert server.requests == []
        assert pool.size == 0
        await pool.close()


async def test_a_redirect_to_another_address_is_not_followed(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as private:
        location = f"http://127.0.0.2:{private.port}/mcp"

        async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = f"HTTP/1.1 307 Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n"
            writer.write(head.encode() + b"connection: close\r\n\r\n")
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(redirect, LOOPBACK, 0) as public:
            port = public.sockets[0].getsockname()[1]
            await remote(servers, world, f"http://127.0.0.1:{port}/mcp")
            with pytest.raises(TrunklineError) as caught:
                await add(pool, world)
            assert caught.value.code in ("MCP_ERROR", "MCP_ADDRESS_REFUSED")
            assert private.requests == []
            await pool.close()


async def test_a_failing_tool_is_an_error_with_its_reason(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as server:
        await remote(servers, world, server.url)
        for tool, reason in (("fail", "Error executing tool fail"), ("nothing", "Unknown tool")):
            with pytest.raises(TrunklineError, match=reason) as caught:
                await pool.call(world.org, world.ann.user_id, "tests", tool, {"message": "boom"})
            assert caught.value.code == "MCP_ERROR"
        assert await add(pool, world) == 3
        await pool.close()


@pytest.mark.proves("000-8-mcp-timeout-is-the-servers")
async def test_a_slow_tool_is_a_timeout_and_the_line_lives_on(
    world: World, servers: McpServers
) -> None:
    async def set_timeout(timeout_s: float) -> None:
        async with world.store.write() as connection:
            await connection.execute(update(schema.mcp_servers).values(timeout_s=timeout_s))

    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server(legacy=True) as server:
        await remote(servers, world, server.url)
        assert await add(pool, world) == 3
        await set_timeout(0.2)
        with pytest.raises(Timeout, match=re.escape("within 0.2 s")) as caught:
            await pool.call(world.org, world.ann.user_id, "tests", "hang", {})
        assert caught.value.code == "MCP_TIMEOUT"
        await set_timeout(60)
        assert await add(pool, world) == 3
        assert pool.size == 1
        sessions = {request.get("mcp-session-id") for request in server.requests} - {None}
        assert len(sessions) == 1
        await pool.close()


async def test_changed_credentials_are_used_from_the_next_call_on(
    world: World, servers: McpServers, keys: Keys
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as server:
        old = await remote(servers, world, server.url, headers={"x-key": "old"})
        assert await add(pool, world) == 3
        secrets = msgspec.json.encode({"url": server.url, "headers": {"x-key": "new"}}).decode()
        sealed = keys.seal(secrets, f"mcp_servers:{old}")
        async with world.store.write() as connection:
            await connection.execute(update(schema.mcp_servers).values(sealed=sealed))
        user = world.ann.user_id
        result = await pool.call(world.org, user, "tests", "header", {"name": "x-key"})
        assert result["structuredContent"] == {"result": "new"}
        assert pool.size == 1
        await pool.close()


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """Takes connections and never answers."""
    over = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    async with await asyncio.start_server(silent, LOOPBACK, 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        over.set()


async def test_a_server_that_never_greets_is_a_timeout(world: World, servers: McpServers) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with silent_server() as url:
        await remote(servers, world, url, timeout_s=0.2)
        with pytest.raises(Timeout) as caught:
            await add(pool, world)
        assert caught.value.code == "MCP_TIMEOUT"
        await pool.close()


async def test_a_line_that_does_not_come_about_is_given_up_and_tried_anew(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK), PoolLimits(connect_timeout_s=0.1))
    async with silent_server() as url:
        await remote(servers, world, url)
        for _ in range(2):
            with pytest.raises(Timeout, match="did not greet") as caught:
                await add(pool, world)
            assert caught.value.code == "MCP_TIMEOUT"
            assert pool.size == 0
        await pool.close()


async def test_a_server_that_is_not_there_is_a_clear_error(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as server:
        url = server.url
    await remote(servers, world, url)
    with pytest.raises(TrunklineError, match="cannot connect to 'tests'") as caught:
        await add(pool, world)
    assert caught.value.code == "MCP_ERROR"
    assert pool.size == 0
    await pool.close()


async def test_a_restarted_server_is_connected_anew(world: World, servers: McpServers) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as first:
        await remote(servers, world, first.url)
        assert await add(pool, world) == 3
    async with running_server(port=first.port) as second:
        assert await add(pool, world) == 3
        assert second.calls == ["add"]
        await pool.close()


async def test_a_server_that_forgot_the_session_is_greeted_anew_and_the_tool_runs_once(
    world: World, servers: McpServers
) -> None:
    """Servers before 2026 answer 404 for a session that they do not know."""
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server(legacy=True) as first:
        await remote(servers, world, first.url)
        assert await add(pool, world) == 3
    async with running_server(port=first.port, legacy=True) as second:
        assert await add(pool, world) == 3
        assert second.calls == ["add"]
        assert pool.size == 1
        await pool.close()


async def test_a_call_that_may_have_run_is_not_made_twice(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as server:
        await remote(servers, world, server.url)
        assert await add(pool, world) == 3
        call = pool.call(world.org, world.ann.user_id, "tests", "hang", {})
        waiting = asyncio.create_task(call)
        await server.stuck.wait()
    with pytest.raises(TrunklineError) as caught:
        await waiting
    assert caught.value.code == "MCP_ERROR"
    assert server.calls == ["add", "hang"]
    await pool.close()


async def test_a_call_that_runs_is_not_made_again_when_another_breaks_the_line(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as server:
        await remote(servers, world, server.url)
        assert await add(pool, world) == 3
        call = pool.call(world.org, world.ann.user_id, "tests", "hang", {})
        running = asyncio.create_task(call)
        await server.stuck.wait()
        server.stop_listening()
        with pytest.raises(TrunklineError):
            await add(pool, world)
        # Tried again, it would have found nobody to connect to.
        with pytest.raises(TrunklineError, match="'tests' failed") as caught:
            await running
        assert caught.value.code == "MCP_ERROR"
        await pool.close()


async def test_a_result_over_its_bound_is_an_error(world: World, servers: McpServers) -> None:
    for legacy in (False, True):
        pool = McpPool(servers, AddressGuard(LOOPBACK), PoolLimits(result_bytes_max=20_000))
        async with running_server(legacy=legacy) as server:
            name = f"legacy-{legacy}"
            await remote(servers, world, server.url, name)
            arguments = {"size": 30_000}
            with pytest.raises(TrunklineError) as caught:
                await pool.call(world.org, world.ann.user_id, name, "big", arguments)
            assert caught.value.code == "MCP_ERROR"
            assert await add(pool, world, name=name) == 3
            await pool.close()


async def test_an_idle_line_is_closed_and_opened_again_when_needed(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK), PoolLimits(idle_s=0.01))
    async with running_server() as server:
        await remote(servers, world, server.url)
        assert await add(pool, world) == 3
        await until(lambda: pool.size == 0)
        assert await add(pool, world) == 3
        await pool.close()


async def test_a_line_that_is_in_use_is_not_idle(world: World, servers: McpServers) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK), PoolLimits(idle_s=0.0))
    async with running_server() as server:
        await remote(servers, world, server.url)
        call = pool.call(world.org, world.ann.user_id, "tests", "hang", {})
        waiting = asyncio.create_task(call)
        await server.stuck.wait()
        assert await add(pool, world) == 3
        assert not waiting.done()
        assert pool.size == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until(lambda: pool.size == 0)
        await pool.close()


async def test_a_deleted_record_ends_its_line_and_an_unknown_server_has_its_code(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    async with running_server() as server:
        record = await remote(servers, world, server.url)
        assert await add(pool, world) == 3
        await servers.remove(world.ann, record)
        assert pool.size == 0
        with pytest.raises(NotFound) as caught:
            await add(pool, world)
        assert caught.value.code == "MCP_SERVER_NOT_FOUND"
        await pool.close()


async def test_lines_are_bounded_and_the_least_used_one_makes_room(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK), PoolLimits(connections_max=2))
    async with running_server() as server:
        for name in ("a", "b", "c"):
            await remote(servers, world, server.url, name)
            assert await add(pool, world, name=name) == 3
        assert pool.size == 2
        user = world.ann.user_id
        hanging = [
            asyncio.create_task(pool.call(world.org, user, name, "hang", {})) for name in "bc"
        ]
        await until(lambda: server.calls.count("hang") == 2)
        with pytest.raises(LimitReached):
            await add(pool, world, name="a")
        for task in hanging:
            task.cancel()
        await asyncio.wait(hanging)
        await pool.close()
