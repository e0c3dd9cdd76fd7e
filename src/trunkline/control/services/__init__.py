"""What an execution plane may ask for or report, one noun a module.

Services know the store and each other, never a socket: the VM edge and the REST API call them.
"""

import asyncio
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trunkline import model_windows, prices
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock, now_ms
from trunkline.control.quotas import Quotas
from trunkline.control.services.audit import Audit
from trunkline.control.services.audit_heads import AuditHeads
from trunkline.control.services.config import Config
from trunkline.control.services.embeddings import embeddings_of
from trunkline.control.services.evolutions import Evolutions
from trunkline.control.services.idempotency import Reports, Results
from trunkline.control.services.mcp_servers import McpServers
from trunkline.control.services.mcp_test import McpTest, tested, untested
from trunkline.control.services.memories import Memories
from trunkline.control.services.methods import Methods, Offered
from trunkline.control.services.model_lists import ModelLists
from trunkline.control.services.rules import Rules
from trunkline.control.services.skills import Skills
from trunkline.control.services.snapshots import Snapshots
from trunkline.control.services.usage import Usage
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store

if TYPE_CHECKING:
    from trunkline.control.services.mcp_pool import McpPool


class Services:
    """All of them, over one store."""

    def __init__(
        self,
        store: Store,
        keys: Keys,
        settings: Settings,
        clock: Clock = now_ms,
        heads: AuditHeads | None = None,
        quotas: Quotas | None = None,
        offered: Mapping[str, Offered] | None = None,
        model_lists: ModelLists | None = None,
    ) -> None:
        """`offered`: requests of parts that services do not know, by their names."""
        quotas = quotas or Quotas(store, settings)
        self._allowed_hosts = settings.mcp_allowed_hosts
        self.fallback_model = settings.fallback_model
        self._mcp_pool: McpPool | None = None
        self._loading = asyncio.Lock()
        self.audit = Audit(store, keys, clock, heads)
        self.config = Config(store)
        self.mcp_servers = McpServers(store, keys, clock)
        embeddings = embeddings_of(settings)
        self.memories = Memories(store, clock, embeddings, quotas)
        self.reports = Reports(store, clock)
        self.results = Results(store, clock)
        self.skills = Skills(store, clock, quotas)
        self.evolutions = Evolutions(store, clock, self.skills)
        self.snapshots = Snapshots(store, clock, quotas)
        own = prices.read(Path(settings.prices).expanduser()) if settings.prices else None
        self.own_tables: dict[str, Any] = {}
        """What the operator says of models: what they cost, how much they read. Machines are told,
        so that events say the same as the sums here."""
        if own is not None:
            self.own_tables["prices"] = msgspec.to_builtins(own)
        if settings.model_windows:
            windows = model_windows.read(Path(settings.model_windows).expanduser())
            self.own_tables["windows"] = msgspec.to_builtins(windows)
        table = prices.built_in() if own is None else prices.over_built_in(own)
        self.prices = table
        self.usage = Usage(store, clock, table)
        self.model_lists = model_lists or ModelLists(settings.mcp_allowed_hosts)
        self.rules = Rules(store, clock)
        self.methods = Methods(self, offered or {})

    async def mcp_pool(self) -> "McpPool":
        """Connections to remote MCP servers, once somebody needs them."""
        async with self._loading:
            if self._mcp_pool is None:
                name = "trunkline.control.services.mcp_pool"
                await asyncio.to_thread(importlib.import_module, name)
                from trunkline.control.services.address_guard import AddressGuard
                from trunkline.control.services.mcp_pool import McpPool

                self._mcp_pool = McpPool(self.mcp_servers, AddressGuard(self._allowed_hosts))
        return self._mcp_pool

    async def test_mcp_server(self, who: Principal, server_id: str) -> McpTest:
        """Whether it answers now, and what it offers."""
        server = await self.mcp_servers.get(who, server_id)
        if server.type == "local":
            return untested()
        return await tested(await self.mcp_pool(), await self.mcp_servers.endpoint_of(server.id))

    async def close(self) -> None:
        """Ends what is connected; the store belongs to whoever opened it."""
        await self.memories.close()
        await self.model_lists.close()
        if self._mcp_pool is not None:
            await self._mcp_pool.close()
