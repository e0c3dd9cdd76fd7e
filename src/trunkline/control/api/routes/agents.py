"""Routes of agents."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.api.needs import Core
from trunkline.control.records.agents import Agent, AgentPatch, NewAgent
from trunkline.control.records.page import Page, Paging

routes = Routes("agents")


@routes.post("/agents", status=201)
async def create_agent(core: Core, who: Principal, body: NewAgent) -> Agent:
    """Make an agent."""
    return await core.records.agents.create(who, body)


@routes.get("/agents")
async def list_agents(core: Core, who: Principal, query: Paging) -> Page[Agent]:
    """List the agents that you may see."""
    return await core.records.agents.page(who, query)


@routes.get("/agents/{agent_id}")
async def get_agent(core: Core, who: Principal, agent_id: str) -> Agent:
    """Show an agent."""
    return await core.records.agents.get(who, agent_id)


@routes.patch("/agents/{agent_id}")
async def change_agent(core: Core, who: Principal, agent_id: str, body: AgentPatch) -> Agent:
    """Change an agent.

    Sessions that exist keep what they started with.
    """
    return await core.records.agents.change(who, agent_id, body)


@routes.delete("/agents/{agent_id}")
async def remove_agent(core: Core, who: Principal, agent_id: str) -> None:
    """Remove an agent. Its sessions stay."""
    await core.records.agents.remove(who, agent_id)
