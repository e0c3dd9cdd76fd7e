"""Routes of agents and what they work with: skills, proposed skills, memories, MCP servers."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.records.agents import Agent, AgentPatch, NewAgent
from trunkline.control.records.fields import Json
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.evolutions import Evolution
from trunkline.control.services.mcp_servers import McpServer, McpServerInput
from trunkline.control.services.memories import Memory, MemoryHit
from trunkline.control.services.skills import Skill

agents = Routes("agents")
skills = Routes("skills")
evolutions = Routes("evolutions")
memories = Routes("memories")
mcp_servers = Routes("mcp-servers")


@agents.post("/agents", status=201, audit="agent.made")
async def create_agent(core: Core, who: Principal, body: NewAgent) -> Agent:
    """Make an agent."""
    return await core.records.agents.create(who, body)


@agents.get("/agents")
async def list_agents(core: Core, who: Principal, query: Paging) -> Page[Agent]:
    """List the agents that you may see."""
    return await core.records.agents.page(who, query)


@agents.get("/agents/{agent_id}")
async def get_agent(core: Core, who: Principal, agent_id: str) -> Agent:
    """Show an agent."""
    return await core.records.agents.get(who, agent_id)


@agents.patch("/agents/{agent_id}", audit="agent.changed")
async def change_agent(core: Core, who: Principal, agent_id: str, body: AgentPatch) -> Agent:
    """Change an agent.

    Sessions that exist keep what they started with.
    """
    return await core.records.agents.change(who, agent_id, body)


@agents.delete("/agents/{agent_id}", audit="agent.removed")
async def remove_agent(core: Core, who: Principal, agent_id: str) -> None:
    """Remove an agent. Its sessions stay."""
    await core.records.agents.remove(who, agent_id)


class SkillDetail(Skill, frozen=True):
    """A skill with the paths of its files."""

    files: list[str]


class SkillQuery(msgspec.Struct, kw_only=True):
    version: (
        Annotated[
            str,
            Meta(
                max_length=limits.NAME_CHARS_MAX,
                description="When the skill is named by its skill id; else the latest.",
            ),
        ]
        | None
    ) = None


@skills.post("/skills", status=201, audit="skill.imported")
async def import_skill(core: Core, who: Principal, upload: bytes) -> Skill:
    """Import a skill package (zip).

    It runs on the machines of the whole organisation, so only its admins may. A package that is
    refused leaves nothing behind.
    """
    who.require_org_admin()
    return await core.services.skills.import_zip(who.org_id, upload)


@skills.get("/skills")
async def list_skills(core: Core, who: Principal, query: Paging) -> Page[Skill]:
    """List skills, each version an item."""
    return await core.services.skills.page(who, query)


@skills.get("/skills/{skill_id}")
async def get_skill(core: Core, who: Principal, skill_id: str, query: SkillQuery) -> SkillDetail:
    """Show a skill and its files, by record id or by skill id."""
    skill = await core.services.skills.get(who, skill_id, query.version)
    files = await core.services.skills.files_of(skill)
    return SkillDetail(**msgspec.structs.asdict(skill), files=files)


@skills.delete("/skills/{skill_id}", audit="skill.removed")
async def remove_skill(core: Core, who: Principal, skill_id: str) -> None:
    """Remove one version of a skill (by record id) or all (by skill id)."""
    await core.services.skills.remove(who, skill_id)


class EvolutionQuery(Paging, kw_only=True):
    state: Literal["pending", "approved", "rejected"] | None = None


@evolutions.get("/evolutions")
async def list_evolutions(core: Core, who: Principal, query: EvolutionQuery) -> Page[Evolution]:
    """List proposed skills, newest first."""
    return await core.services.evolutions.page(who, query, query.state)


@evolutions.get("/evolutions/{evolution_id}")
async def get_evolution(core: Core, who: Principal, evolution_id: str) -> Evolution:
    """Show a proposed skill."""
    return await core.services.evolutions.get(who, evolution_id)


@evolutions.post("/evolutions/{evolution_id}/approve", audit="evolution.approved")
async def approve_evolution(core: Core, who: Principal, evolution_id: str) -> Evolution:
    """Make a proposed skill a skill of the organisation.

    Its admins decide; whoever decides first decides.
    """
    return await core.services.evolutions.approve(who, evolution_id)


@evolutions.post("/evolutions/{evolution_id}/reject", audit="evolution.rejected")
async def reject_evolution(core: Core, who: Principal, evolution_id: str) -> Evolution:
    """Turn a proposed skill down."""
    return await core.services.evolutions.reject(who, evolution_id)


class NewMemory(msgspec.Struct, kw_only=True):
    """`shared`: for the whole organisation; its admins may."""

    content: Annotated[str, Meta(min_length=1, max_length=limits.MEMORY_CONTENT_CHARS_MAX)]
    metadata: Json | None = None
    shared: bool = False


class MemoryQuery(msgspec.Struct, kw_only=True):
    q: Annotated[str, Meta(min_length=1, max_length=limits.MEMORY_QUERY_CHARS_MAX)]
    top_k: Annotated[int, Meta(ge=1, le=limits.MEMORY_TOP_K_MAX)] = limits.MEMORY_TOP_K_DEFAULT


class MemoryHits(msgspec.Struct, kw_only=True):
    """The best matches, best first."""

    results: list[MemoryHit]


@memories.post("/memories", status=201, scope="talk")
async def add_memory(core: Core, who: Principal, body: NewMemory) -> Memory:
    """Remember something."""
    if body.shared:
        who.require_org_admin()
    owner = None if body.shared else who.user_id
    return await core.services.memories.add(who.org_id, owner, body.content, body.metadata)


@memories.get("/memories")
async def list_memories(core: Core, who: Principal, query: Paging) -> Page[Memory]:
    """List memories, newest first."""
    return await core.services.memories.page(who, query)


@memories.get("/memories/search")
async def search_memories(core: Core, who: Principal, query: MemoryQuery) -> MemoryHits:
    """Search your own and your organisation's memories, by meaning and by words."""
    return MemoryHits(
        results=await core.services.memories.search(who.org_id, who.user_id, query.q, query.top_k)
    )


@memories.delete("/memories/{memory_id}", scope="talk")
async def forget_memory(core: Core, who: Principal, memory_id: str) -> None:
    """Forget something."""
    await core.services.memories.remove(who, memory_id)


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


@mcp_servers.delete("/mcp-servers/{server_id}", audit="mcp_server.removed")
async def remove_mcp_server(core: Core, who: Principal, server_id: str) -> None:
    """Remove an MCP server."""
    await core.services.mcp_servers.remove(who, server_id)
