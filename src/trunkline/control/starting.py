"""What a machine is told when a session starts: the agent, its skills, servers and helpers."""

from typing import Any

from sqlalchemy import select

from trunkline.control.commands import Start
from trunkline.control.services import Services
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

DEFAULT_SESSION_CONFIG = {"max_turns": 50, "timeout_seconds": 3600}

AGENT_FIELDS = (
    "id",
    "name",
    "system_prompt",
    "model",
    "temperature",
    "max_tokens",
    "tools",
    "confirm",
    "agent_app",
)


def agent_config(agent: dict[str, Any] | None, overrides: dict[str, Any]) -> dict[str, Any]:
    """The agent's fields, with what the session's creator chose on top; unset ones left out."""
    config = {name: agent[name] for name in AGENT_FIELDS if agent and agent[name] is not None}
    return {**config, **overrides}


async def build_start(store: Store, services: Services, session_id: str) -> Start | None:
    """The `Start` of a session; None when it is closed or deleted."""
    sessions, agents = schema.sessions, schema.agents
    async with store.read() as connection:
        session = (
            (await connection.execute(select(sessions).where(sessions.c.id == session_id)))
            .mappings()
            .first()
        )
        if session is None or session["status"] != "active":
            return None
        agent = (
            (await connection.execute(select(agents).where(agents.c.id == session["agent_id"])))
            .mappings()
            .first()
        )
        wanted = (agent["sub_agents"] if agent else None) or []
        helpers = (
            (
                await connection.execute(
                    select(agents.c.id, agents.c.name, agents.c.description).where(
                        agents.c.id.in_(wanted),
                        agents.c.org_id == session["org_id"],
                        agents.c.user_id.in_((session["user_id"], agent and agent["user_id"])),
                    )
                )
            )
            .mappings()
            .all()
        )
    org_id, user_id = session["org_id"], session["user_id"]
    return Start(
        session_id=session_id,
        runtime_type=session["runtime_type"],
        agent_config=session["agent_config"],
        skill_index=await services.skills.index_for(org_id, agent["skills"] if agent else None),
        mcp_servers=await services.mcp_servers.index_for(
            org_id, user_id, agent["mcp_servers"] if agent else None
        ),
        sub_agents=[
            {**helper, "description": helper["description"] or ""} for helper in map(dict, helpers)
        ],
        session_config=session["session_config"],
        openclaw_config=session["openclaw_config"],
        snapshot=await services.snapshots.latest(session_id),
    )
