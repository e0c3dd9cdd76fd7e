"""`mcp_tools`: what a remote MCP server offers, over the same lines and bounds as `mcp_call`."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from mcp.server.lowlevel import Server as LowLevelServer
from mcp.server.mcpserver import MCPServer
from mcp.types import ListToolsResult, PaginatedRequestParams, Tool, ToolAnnotations

from tests.support.mcp_server import RunningServer, running_server
from tests.unit.control.services.conftest import World
from trunkline.control.errors import NotFound, TrunklineError
from trunkline.control.services import Services
from trunkline.control.services.address_guard import AddressGuard
from trunkline.control.services.mcp_pool import McpPool, PoolLimits
from trunkline.control.services.mcp_servers import McpServerInput
from trunkline.control.services.mcp_test import McpTool
from trunkline.control.store.engine import Store

pytestmark = pytest.mark.slow  # it starts MCP servers


@pytest.fixture
def store(sqlite_store: Store) -> Store:
    """Which database holds the records makes no difference here."""
    return sqlite_store


async def remote(services: Services, world: World, url: str, **more: Any) -> None:
    given = McpServerInput(name="calc", type="remote", url=url, **more)
    await services.mcp_servers.add(world.org, None, given)


async def tools(services: Services, world: World, **params: Any) -> list[dict[str, Any]]:
    answer = await services.methods.request(world.caller, "mcp_tools", {"server": "calc"} | params)
    assert answer.keys() == {"tools"}
    found: list[dict[str, Any]] = answer["tools"]
    return found


async def refused(services: Services, world: World, **params: Any) -> TrunklineError:
    with pytest.raises(TrunklineError) as caught:
        await tools(services, world, **params)
    return caught.value


def only(*added: Any) -> Callable[[RunningServer], Any]:
    """A server that offers `added` instead of the usual tools."""

    def made(_seen: RunningServer) -> MCPServer:
        server = MCPServer("tests")
        for options, function in added:
            server.tool(**options)(function)
        return server

    return made


async def test_every_tool_is_listed_with_its_schema(world: World, services: Services) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    hints = ToolAnnotations(read_only_hint=True)
    offered = only(({"description": "Adds.", "annotations": hints}, add))
    async with running_server(tools=offered) as server:
        await remote(services, world, server.url)
        (tool,) = await tools(services, world)
        assert tool.keys() == {"name", "description", "inputSchema", "annotations"}
        assert (tool["name"], tool["description"]) == ("add", "Adds.")
        assert tool["inputSchema"]["required"] == ["a", "b"]
        assert tool["annotations"] == {"readOnlyHint": True}


async def test_listing_and_calling_share_a_line(world: World, services: Services) -> None:
    async with running_server() as server:
        await remote(services, world, server.url, headers={"Authorization": "Bearer s3cret"})
        names = {tool["name"] for tool in await tools(services, world)}
        assert names == {"add", "fail", "hang", "big", "header"}
        params = {"server": "calc", "tool": "add", "arguments": {"a": 2, "b": 3}}
        await services.methods.request(world.caller, "mcp_call", params)
        pool = await services.mcp_pool()
        assert pool.size == 1
        assert {request["authorization"] for request in server.requests} == {"Bearer s3cret"}


async def refused_by_pool(services: Services, world: World, bounds: PoolLimits) -> TrunklineError:
    pool = McpPool(services.mcp_servers, AddressGuard("127.0.0.1"), bounds)
    with pytest.raises(TrunklineError) as caught:
        await pool.tools(world.org, world.ann.user_id, "calc")
    await pool.close()
    return caught.value


async def test_a_list_that_is_too_long_is_refused(world: World, services: Services) -> None:
    async with running_server() as server:
        await remote(services, world, server.url)
        error = await refused_by_pool(services, world, PoolLimits(tools_max=4))
        assert error.code == "MCP_ERROR"
        assert "more than 4 tools" in error.message
        assert len(await tools(services, world)) == 5


async def test_a_list_whose_pages_are_too_large_together_is_refused(
    world: World, services: Services
) -> None:
    async with running_server(tools=paged(pages=30, tools_a_page=1)) as server:
        await remote(services, world, server.url)
        error = await refused_by_pool(services, world, PoolLimits(result_bytes_max=1_000))
        assert "1000 bytes" in error.message
        assert len(await tools(services, world)) == 30


async def test_a_server_that_is_not_there_local_or_private_has_its_own_code(
    world: World, services: Services
) -> None:
    assert (await refused(services, world)).code == "MCP_SERVER_NOT_FOUND"
    await services.mcp_servers.add(
        world.org, None, McpServerInput(name="files", type="local", command="mcp-files")
    )
    assert (await refused(services, world, server="files")).code == "MCP_LOCAL"
    await remote(services, world, "http://10.0.0.1/mcp")
    assert (await refused(services, world)).code == "MCP_ADDRESS_REFUSED"


async def test_a_server_that_does_not_answer_is_a_timeout(world: World, services: Services) -> None:
    heard = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        heard.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        await remote(services, world, f"http://127.0.0.1:{port}/mcp", timeout_s=0.5)
        assert (await refused(services, world)).code == "MCP_TIMEOUT"
        assert heard.is_set()


def paged(pages: int, tools_a_page: int) -> Callable[[RunningServer], Any]:
    """A server that gives its list in pages."""

    async def page(_context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        number = int(params.cursor) if params and params.cursor else 0
        listed = [
            Tool(name=f"tool-{number}-{place}", input_schema={"type": "object"})
            for place in range(tools_a_page)
        ]
        following = str(number + 1) if number + 1 < pages else None
        return ListToolsResult(tools=listed, next_cursor=following)

    def made(_seen: RunningServer) -> LowLevelServer[Any]:
        return LowLevelServer("tests", on_list_tools=page)

    return made


async def test_a_list_in_pages_is_read_to_its_end(world: World, services: Services) -> None:
    async with running_server(tools=paged(pages=3, tools_a_page=2)) as server:
        await remote(services, world, server.url)
        names = [tool["name"] for tool in await tools(services, world)]
        assert names == [f"tool-{page}-{place}" for page in range(3) for place in range(2)]


@pytest.mark.parametrize("tools_a_page", [0, 1])
async def test_a_list_without_end_is_refused(
    world: World, services: Services, tools_a_page: int
) -> None:
    offered = paged(pages=10**9, tools_a_page=tools_a_page)
    async with running_server(tools=offered) as server:
        await remote(services, world, server.url)
        error = await refused_by_pool(services, world, PoolLimits(tools_max=10))
        assert error.code == "MCP_ERROR"


@pytest.mark.parametrize("params", [{"server": 7}, {"server": None}, {"server": []}])
async def test_bad_params_have_their_own_code(
    world: World, services: Services, params: dict[str, Any]
) -> None:
    assert (await refused(services, world, **params)).code == "INVALID_PARAMS"


async def test_a_test_lists_the_tools_or_says_what_is_wrong(
    world: World, services: Services
) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    hints = ToolAnnotations(read_only_hint=True)
    offered = only(({"description": "Adds.", "annotations": hints}, add))
    servers = services.mcp_servers
    async with running_server(tools=offered) as server:
        off = McpServerInput(name="calc", type="remote", url=server.url, enabled=False)
        added = await servers.add(world.org, None, off)
        told = await services.test_mcp_server(world.ann, added.id)
        assert (told.ok, told.tools) == (True, [McpTool("add", "Adds.", read_only=True)])
    told = await services.test_mcp_server(world.ann, added.id)
    assert (told.ok, told.tools, told.code) == (False, [], "MCP_ERROR")
    assert told.error is not None
    assert "calc" in told.error
    local = McpServerInput(name="fs", type="local", command="mcp-fs")
    mine = await servers.add(world.org, world.ann.user_id, local)
    told = await services.test_mcp_server(world.ann, mine.id)
    assert (told.ok, told.code) == (None, "MCP_LOCAL")
    with pytest.raises(NotFound):
        await services.test_mcp_server(world.bob, mine.id)
