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
from tests.support.eventually import WAIT_S
from tests.support.mcp_server import running_server
from tests.unit.control.services.conftest import World
from trunkline.control.access.keys import Keys
from trunkline.control.errors import LimitReached, NotFound, Timeout, TrunklineError
from trunkline.control.services.address_guard import AddressGuard
from trunkline.control.services.mcp_pool import McpPool, PoolLimits
from trunkline.control.services.mcp_servers import McpServerInput, McpServers
from trunkline.control.store import service_schema
from trunkline.control.store.engine import Store

pytestmark = pytest.mark.slow  # it starts MCP servers

LOOPBACK = "127.0.0.1"


@pytest.fixture
def store(sqlite_store: Store) -> Store:
    """Which database holds the records makes no difference here."""
    return sqlite_store


class Desk:
    """Ann's servers, and a pool that calls them."""

    def __init__(self, world: World, servers: McpServers) -> None:
        self.world = world
        self.servers = servers
        self.pool = McpPool(servers, AddressGuard(LOOPBACK))

    def use(self, allowed: str = LOOPBACK, **bounds: Any) -> None:
        """Another pool, before the first call."""
        self.pool = McpPool(self.servers, AddressGuard(allowed), PoolLimits(**bounds))

    async def remote(self, url: str, name: str = "tests", **more: Any) -> str:
        given = McpServerInput(name=name, type="remote", url=url, **more)
        return (await self.servers.add(self.world.org, self.world.ann.user_id, given)).id

    async def call(self, tool: str, arguments: dict[str, Any], name: str = "tests") -> Any:
        user_id = self.world.ann.user_id
        return await self.pool.call(self.world.org, user_id, name, tool, arguments)

    async def add(self, a: int = 1, b: int = 2, name: str = "tests") -> Any:
        return (await self.call("add", {"a": a, "b": b}, name))["structuredContent"]["result"]

    def hang(self, name: str = "tests") -> asyncio.Task[Any]:
        """A call that does not end by itself."""
        return asyncio.create_task(self.call("hang", {}, name))


@pytest.fixture
async def desk(world: World, keys: Keys, clock: FakeClock) -> AsyncIterator[Desk]:
    desk = Desk(world, McpServers(world.store, keys, clock))
    yield desk
    await desk.pool.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_tool_is_called_with_the_servers_own_credentials(desk: Desk) -> None:
    async with running_server() as server:
        await desk.remote(server.url, headers={"Authorization": "Bearer s3cret"})
        result = await desk.call("add", {"a": 1, "b": 2})
        assert result == {
            "content": [{"type": "text", "text": "3"}],
            "structuredContent": {"result": 3},
            "isError": False,
        }
        assert {request["authorization"] for request in server.requests} == {"Bearer s3cret"}


@pytest.mark.parametrize("json_response", [True, False])
async def test_calls_of_one_server_share_a_line(desk: Desk, json_response: bool) -> None:
    async with running_server(json_response=json_response) as server:
        await desk.remote(server.url)
        assert await asyncio.gather(*(desk.add(n, n) for n in range(20))) == [
            2 * n for n in range(20)
        ]
        assert desk.pool.size == 1
        greetings = len(server.requests) - 20
        assert await desk.add() == 3
        assert len(server.requests) - 21 == greetings
        await desk.pool.close()
        assert desk.pool.size == 0


async def test_loopback_is_refused_unless_it_is_allowed(desk: Desk) -> None:
    desk.use(allowed="")
    async with running_server() as server:
        await desk.remote(server.url)
        await desk.remote(f"http://localhost:{server.port}/mcp", "by-name")
        for name in ("tests", "by-name"):
            with pytest.raises(TrunklineError) as caught:
                await desk.add(name=name)
            assert caught.value.code == "MCP_ADDRESS_REFUSED"
        assert server.requests == []
        assert desk.pool.size == 0


async def test_a_redirect_to_another_address_is_not_followed(desk: Desk) -> None:
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
            await desk.remote(f"http://127.0.0.1:{port}/mcp")
            with pytest.raises(TrunklineError) as caught:
                await desk.add()
            assert caught.value.code in ("MCP_ERROR", "MCP_ADDRESS_REFUSED")
            assert private.requests == []


async def test_a_failing_tool_is_an_error_with_its_reason(desk: Desk) -> None:
    async with running_server() as server:
        await desk.remote(server.url)
        for tool, reason in (("fail", "Error executing tool fail"), ("nothing", "Unknown tool")):
            with pytest.raises(TrunklineError, match=reason) as caught:
                await desk.call(tool, {"message": "boom"})
            assert caught.value.code == "MCP_ERROR"
        assert await desk.add() == 3


@pytest.mark.proves("000-8-mcp-timeout-is-the-servers")
async def test_a_slow_tool_is_a_timeout_and_the_line_lives_on(desk: Desk) -> None:
    async def set_timeout(timeout_s: float) -> None:
        async with desk.world.store.write() as connection:
            await connection.execute(update(service_schema.mcp_servers).values(timeout_s=timeout_s))

    async with running_server(legacy=True) as server:
        await desk.remote(server.url)
        assert await desk.add() == 3
        await set_timeout(0.2)
        with pytest.raises(Timeout, match=re.escape("within 0.2 s")) as caught:
            await desk.call("hang", {})
        assert caught.value.code == "MCP_TIMEOUT"
        await set_timeout(60)
        assert await desk.add() == 3
        assert desk.pool.size == 1
        sessions = {request.get("mcp-session-id") for request in server.requests} - {None}
        assert len(sessions) == 1


async def test_changed_credentials_are_used_from_the_next_call_on(desk: Desk, keys: Keys) -> None:
    async with running_server() as server:
        old = await desk.remote(server.url, headers={"x-key": "old"})
        assert await desk.add() == 3
        secrets = msgspec.json.encode({"url": server.url, "headers": {"x-key": "new"}}).decode()
        sealed = keys.seal(secrets, f"mcp_servers:{old}")
        async with desk.world.store.write() as connection:
            await connection.execute(update(service_schema.mcp_servers).values(sealed=sealed))
        result = await desk.call("header", {"name": "x-key"})
        assert result["structuredContent"] == {"result": "new"}
        assert desk.pool.size == 1


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


async def test_a_server_that_never_greets_is_a_timeout(desk: Desk) -> None:
    async with silent_server() as url:
        await desk.remote(url, timeout_s=0.2)
        with pytest.raises(Timeout) as caught:
            await desk.add()
        assert caught.value.code == "MCP_TIMEOUT"


async def test_a_line_that_does_not_come_about_is_given_up_and_tried_anew(desk: Desk) -> None:
    desk.use(connect_timeout_s=0.1)
    async with silent_server() as url:
        await desk.remote(url)
        for _ in range(2):
            with pytest.raises(Timeout, match="did not greet") as caught:
                await desk.add()
            assert caught.value.code == "MCP_TIMEOUT"
            assert desk.pool.size == 0


async def test_a_server_that_is_not_there_is_a_clear_error(desk: Desk) -> None:
    async with running_server() as server:
        url = server.url
    await desk.remote(url)
    with pytest.raises(TrunklineError, match="cannot connect to 'tests'") as caught:
        await desk.add()
    assert caught.value.code == "MCP_ERROR"
    assert desk.pool.size == 0


async def test_a_restarted_server_is_connected_anew(desk: Desk) -> None:
    async with running_server() as first:
        await desk.remote(first.url)
        assert await desk.add() == 3
    async with running_server(port=first.port) as second:
        assert await desk.add() == 3
        assert second.calls == ["add"]


async def test_a_server_that_forgot_the_session_is_greeted_anew_and_the_tool_runs_once(
    desk: Desk,
) -> None:
    """Servers before 2026 answer 404 for a session that they do not know."""
    async with running_server(legacy=True) as first:
        await desk.remote(first.url)
        assert await desk.add() == 3
    async with running_server(port=first.port, legacy=True) as second:
        assert await desk.add() == 3
        assert second.calls == ["add"]
        assert desk.pool.size == 1


async def test_a_call_that_may_have_run_is_not_made_twice(desk: Desk) -> None:
    async with running_server() as server:
        await desk.remote(server.url)
        assert await desk.add() == 3
        waiting = desk.hang()
        await server.stuck.wait()
    with pytest.raises(TrunklineError) as caught:
        await waiting
    assert caught.value.code == "MCP_ERROR"
    assert server.calls == ["add", "hang"]


async def test_a_call_that_runs_is_not_made_again_when_another_breaks_the_line(desk: Desk) -> None:
    async with running_server() as server:
        await desk.remote(server.url)
        assert await desk.add() == 3
        running = desk.hang()
        await server.stuck.wait()
        server.stop_listening()
        with pytest.raises(TrunklineError):
            await desk.add()
        # Tried again, it would have found nobody to connect to.
        with pytest.raises(TrunklineError, match="'tests' failed") as caught:
            await running
        assert caught.value.code == "MCP_ERROR"


@pytest.mark.parametrize("legacy", [False, True])
async def test_a_result_over_its_bound_is_an_error(desk: Desk, legacy: bool) -> None:
    desk.use(result_bytes_max=20_000)
    async with running_server(legacy=legacy) as server:
        await desk.remote(server.url)
        with pytest.raises(TrunklineError) as caught:
            await desk.call("big", {"size": 30_000})
        assert caught.value.code == "MCP_ERROR"
        assert await desk.add() == 3


async def test_an_idle_line_is_closed_and_opened_again_when_needed(desk: Desk) -> None:
    desk.use(idle_s=0.01)
    async with running_server() as server:
        await desk.remote(server.url)
        assert await desk.add() == 3
        await until(lambda: desk.pool.size == 0)
        assert await desk.add() == 3


async def test_a_line_that_is_in_use_is_not_idle(desk: Desk) -> None:
    desk.use(idle_s=0.0)
    async with running_server() as server:
        await desk.remote(server.url)
        waiting = desk.hang()
        await server.stuck.wait()
        assert await desk.add() == 3
        assert not waiting.done()
        assert desk.pool.size == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until(lambda: desk.pool.size == 0)


async def test_a_deleted_record_ends_its_line_and_an_unknown_server_has_its_code(
    desk: Desk,
) -> None:
    async with running_server() as server:
        record = await desk.remote(server.url)
        assert await desk.add() == 3
        await desk.servers.remove(desk.world.ann, record)
        assert desk.pool.size == 0
        with pytest.raises(NotFound) as caught:
            await desk.add()
        assert caught.value.code == "MCP_SERVER_NOT_FOUND"


async def test_lines_are_bounded_and_the_least_used_one_makes_room(desk: Desk) -> None:
    desk.use(connections_max=2)
    async with running_server() as server:
        for name in ("a", "b", "c"):
            await desk.remote(server.url, name)
            assert await desk.add(name=name) == 3
        assert desk.pool.size == 2
        hanging = [desk.hang(name) for name in "bc"]
        await until(lambda: server.calls.count("hang") == 2)
        with pytest.raises(LimitReached):
            await desk.add(name="a")
        for task in hanging:
            task.cancel()
        await asyncio.wait(hanging)
