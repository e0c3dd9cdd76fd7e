"""Calls to remote MCP servers. The SDK behind them is loaded at the first one.

It takes a second to import, which a control plane without MCP servers never pays.
"""

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

from trunkline.control.services.mcp_servers import McpServers

if TYPE_CHECKING:
    from trunkline.control.services.mcp_pool import McpPool


class Mcp:
    """The pool of connections, once somebody needs it."""

    def __init__(self, servers: McpServers, allowed_hosts: str) -> None:
        self._servers = servers
        self._allowed_hosts = allowed_hosts
        self._pool: McpPool | None = None
        self._loading = asyncio.Lock()

    async def call(
        self, org_id: str, user_id: str, server: str, tool: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        pool = await self._loaded()
        return await pool.call(org_id, user_id, server, tool, arguments)

    async def tools(self, org_id: str, user_id: str, server: str) -> list[dict[str, Any]]:
        pool = await self._loaded()
        return await pool.tools(org_id, user_id, server)

    async def _loaded(self) -> "McpPool":
        async with self._loading:
            if self._pool is None:
                await asyncio.to_thread(
                    importlib.import_module, "trunkline.control.services.mcp_pool"
                )
                from trunkline.control.services.mcp_pool import McpPool
                from trunkline.control.services.ssrf import AddressGuard

                self._pool = McpPool(self._servers, AddressGuard(self._allowed_hosts))
                self._servers.on_delete(self._pool.forget)
        return self._pool

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
