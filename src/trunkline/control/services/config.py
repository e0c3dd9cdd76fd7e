"""What a session runs with: its agent's configuration, its record, its runtime.

A machine may ask for agents of its user's org and for its user's own sessions, nothing else.
"""

from typing import Any

from sqlalchemy import Row, select

from trunkline.control.errors import NotFound
from trunkline.control.records.fields import checked_id
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import agents, sessions
from trunkline.wire.commands import DEFAULT_RUNTIME


def runtime_type(session: str | None, agent: str | None, user: str | None, org: str | None) -> str:
    """The first that is set: session, agent, user, org, then `semigraph`.

    See docs/protocols/execution.md#choosing-the-runtime.
    """
    return session or agent or user or org or DEFAULT_RUNTIME


class Config:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def get_config(self, user_id: str, session_id: str, agent_id: str) -> dict[str, Any]:
        """The result of `get_config`: the user's own agents, and those that the session uses."""
        checked_id("agent", agent_id)
        query = select(agents).where(agents.c.id == agent_id)
        used = (
            select(agents.c.id, agents.c.sub_agents)
            .join(sessions, sessions.c.agent_id == agents.c.id)
            .where(sessions.c.id == session_id)
        )
        row, main = await self._store.first(query), await self._store.first(used)
        in_use = () if main is None else (main.id, *(main.sub_agents or ()))
        if row is None or (row.user_id != user_id and agent_id not in in_use):
            raise NotFound("agent", agent_id)
        return {"config": _plain(row)}

    async def get_session(self, user_id: str, session_id: str) -> dict[str, Any]:
        """The result of `get_session`: the record, and the agent with the session's own choices."""
        checked_id("session", session_id)
        query = select(sessions).where(sessions.c.id == session_id, sessions.c.user_id == user_id)
        row = await self._store.first(query)
        if row is None:
            raise NotFound("session", session_id)
        agent = row.agent_config
        if row.agent_id is not None:
            own = select(agents).where(agents.c.id == row.agent_id, agents.c.org_id == row.org_id)
            found = await self._store.first(own)
            agent = {**(_plain(found) if found is not None else {}), **agent}
        return {"session": _plain(row), "agent": agent}


def _plain(row: Row[Any]) -> dict[str, Any]:
    """A record without what is not set."""
    return {name: value for name, value in row._asdict().items() if value is not None}
