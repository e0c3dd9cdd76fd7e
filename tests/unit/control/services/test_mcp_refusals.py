"""What `mcp_call` refuses before anything is connected."""

import pytest

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World
from trunkline.control.access.keys import Keys
from trunkline.control.errors import InvalidRequest, NotFound
from trunkline.control.services.address_guard import AddressGuard
from trunkline.control.services.mcp_pool import McpPool
from trunkline.control.services.mcp_servers import McpServerInput, McpServers

LOOPBACK = "127.0.0.1"


@pytest.fixture
def servers(world: World, keys: Keys, clock: FakeClock) -> McpServers:
    return McpServers(world.store, keys, clock)


async def test_another_users_server_is_unknown(world: World, servers: McpServers) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    given = McpServerInput(name="tests", type="remote", url="http://127.0.0.1:9/mcp")
    await servers.add(world.org, world.ann.user_id, given)
    for who in (world.olga, world.bob):
        with pytest.raises(NotFound) as caught:
            await pool.call(who.org_id, who.user_id, "tests", "add", {})
        assert caught.value.code == "MCP_SERVER_NOT_FOUND"


async def test_a_local_server_and_bad_arguments_are_refused(
    world: World, servers: McpServers
) -> None:
    pool = McpPool(servers, AddressGuard(LOOPBACK))
    user = world.ann.user_id
    await servers.add(world.org, user, McpServerInput(name="fs", type="local", command="mcp-fs"))
    with pytest.raises(InvalidRequest) as caught:
        await pool.call(world.org, user, "fs", "read", {})
    assert caught.value.code == "MCP_LOCAL"
    for server, tool in (("fs", ""), ("fs", "x\x00"), ("\x00", "x"), ("", "x")):
        with pytest.raises(InvalidRequest):
            await pool.call(world.org, user, server, tool, {})
