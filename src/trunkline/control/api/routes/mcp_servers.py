"""Routes of MCP servers: remote ones that `mcp_call` reaches, local ones that sessions start."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.mcp_servers import McpServer, McpServerInput

routes = Routes("mcp-servers")


class NewMcpServer(McpServerInput, frozen=True, kw_only=True):
    """Remote: `url`, `headers`. Local: `command`, `args`. `shared`: for the whole organisation."""

    shared: bool = False


@routes.post("/mcp-servers", status=201)
async def add_mcp_server(core: Core, who: Principal, body: NewMcpServer) -> McpServer:
    """Add an MCP server.

    Its address and headers are kept encrypted. Shared ones are for the organisation's admins to
    add, as they reach the sessions of everyone in it.
    """
    if body.shared:
        who.require_org_admin()
    owner = None if body.shared else who.user_id
    return await core.services.mcp_servers.add(who.org_id, owner, body)


@routes.get("/mcp-servers")
async def list_mcp_servers(core: Core, who: Principal, query: Paging) -> Page[McpServer]:
    """List MCP servers: your own and your organisation's."""
    return await core.services.mcp_servers.page(who, query)


@routes.delete("/mcp-servers/{server_id}")
async def remove_mcp_server(core: Core, who: Principal, server_id: str) -> None:
    """Remove an MCP server."""
    await core.services.mcp_servers.remove(who, server_id)
