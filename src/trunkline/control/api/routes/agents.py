"""Routes of agents, and of what they can be allowed to use."""

from typing import Literal

import msgspec

from trunkline import names
from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.records.agents import Agent, AgentPatch, NewAgent
from trunkline.control.records.page import Page, Paging

agents = Routes("agents")


class Tool(msgspec.Struct, frozen=True):
    """What `tools` of an agent may name. Of a skill and of an MCP server, the name stands for what
    it brings."""

    name: str
    kind: Literal["built_in", "skill", "mcp_server"]
    description: str | None = None


class Tools(msgspec.Struct, frozen=True):
    """By kind, then by name."""

    items: list[Tool]


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


@agents.get("/tools")
async def list_tools(core: Core, who: Principal) -> Tools:
    """List what `tools` of an agent of the runtime `semigraph` may name.

    Besides `mcp__SERVER__TOOL` for one tool of an MCP server.
    """
    skills = await core.services.skills.index_for(who.org_id)
    servers = await core.services.mcp_servers.index_for(who.org_id, who.user_id)
    built_in = [Tool(name, "built_in") for name in sorted(names.TOOLS)]
    of_skills = [Tool(one["id"], "skill", one["description"]) for one in skills]
    return Tools([*built_in, *of_skills, *(Tool(one["name"], "mcp_server") for one in servers)])
