"""Routes of MCP servers."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.mcp_servers import McpServer, McpServerInput, McpServerPatch
from trunkline.control.services.mcp_test import McpTest

mcp_servers = Routes("mcp-servers")


class NewMcpServer(McpServerInput, frozen=True, kw_only=True):
    """Remote: `url`, `headers`. Local: `command`, `args`. `shared`: for the whole organisation."""

    shared: bool = False


@mcp_servers.post("/mcp-servers", status=201, audit="mcp_server.added")
async def add_mcp_server(core: Core, who: Principal, body: NewMcpServer) -> McpServer:
    """Add an MCP server.

    Its address and headers are kept encrypted. Shared ones are for the organisation's admins to
    add, as they reach the sessions of everyone in it.
    """
    if body.shared:
        who.require_org_admin()
    owner = None if body.shared else who.user_id
    return await core.services.mcp_servers.add(who.org_id, owner, body)


@mcp_servers.get("/mcp-servers")
async def list_mcp_servers(core: Core, who: Principal, query: Paging) -> Page[McpServer]:
    """List MCP servers: your own and your organisation's."""
    return await core.services.mcp_servers.page(who, query)


@mcp_servers.get("/mcp-servers/{server_id}")
async def get_mcp_server(core: Core, who: Principal, server_id: str) -> McpServer:
    """Show an MCP server."""
    return await core.services.mcp_servers.get(who, server_id)


@mcp_servers.patch("/mcp-servers/{server_id}", audit="mcp_server.changed")
async def change_mcp_server(
    core: Core, who: Principal, server_id: str, body: McpServerPatch
) -> McpServer:
    """Change an MCP server: your own, or as an admin your organisation's.

    Sessions that are made from then on get it so. An address on another host needs its headers
    said again.
    """
    return await core.services.mcp_servers.change(who, server_id, body)


@mcp_servers.post("/mcp-servers/{server_id}/test", scope="talk", audit="mcp_server.tested")
async def test_mcp_server(core: Core, who: Principal, server_id: str) -> McpTest:
    """Connect to a remote MCP server and list its tools.

    Also of one that is switched off. A local one is started by each session's machine: here it
    cannot be tested, and `ok` is null.
    """
    return await core.services.test_mcp_server(who, server_id)


@mcp_servers.delete("/mcp-servers/{server_id}", audit="mcp_server.removed")
async def remove_mcp_server(core: Core, who: Principal, server_id: str) -> None:
    """Remove an MCP server."""
    await core.services.mcp_servers.remove(who, server_id)
