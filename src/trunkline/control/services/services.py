"""All services of a control plane, built once and closed once."""

from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock, now_ms
from trunkline.control.services.audit import Audit
from trunkline.control.services.config import Config
from trunkline.control.services.embeddings import Embeddings
from trunkline.control.services.evolutions import Evolutions
from trunkline.control.services.mcp import Mcp
from trunkline.control.services.mcp_servers import McpServers
from trunkline.control.services.memories import Memories
from trunkline.control.services.methods import Methods
from trunkline.control.services.reports import Reports
from trunkline.control.services.results import Results
from trunkline.control.services.skills import Skills
from trunkline.control.services.snapshots import Snapshots
from trunkline.control.services.usage import Usage
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store


class Services:
    def __init__(self, store: Store, keys: Keys, settings: Settings, clock: Clock = now_ms) -> None:
        self.audit = Audit(store, keys, clock)
        self.config = Config(store)
        self.mcp_servers = McpServers(store, keys, clock)
        self.mcp = Mcp(self.mcp_servers, settings.mcp_allowed_hosts)
        self.memories = Memories(store, clock, Embeddings())
        self.reports = Reports(store, clock)
        self.results = Results(store, clock)
        self.skills = Skills(store, clock)
        self.evolutions = Evolutions(store, clock, self.skills)
        self.snapshots = Snapshots(store, clock)
        self.usage = Usage(store, clock)
        self.methods = Methods(
            skills=self.skills,
            memories=self.memories,
            mcp=self.mcp,
            usage=self.usage,
            audit=self.audit,
            evolutions=self.evolutions,
            snapshots=self.snapshots,
            config=self.config,
            reports=self.reports,
        )

    async def close(self) -> None:
        """Ends what is connected; the store belongs to whoever opened it."""
        await self.mcp.close()
