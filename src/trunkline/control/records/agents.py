"""Agents: a named way to run sessions. Each belongs to one user.

What a session takes from its agent is decided where sessions are made, not here.
"""

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import select

from trunkline import names
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Forbidden, InvalidRequest
from trunkline.control.ids import new_id
from trunkline.control.quotas import Owner, Quotas
from trunkline.control.records.fields import (
    Acp,
    AcpProgram,
    AgentApp,
    Confirm,
    Id,
    Json,
    MaxTokens,
    Name,
    Names,
    PermissionMode,
    RuntimeType,
    Temperature,
    Text,
    Workspace,
)
from trunkline.control.records.page import SeenRows, changes
from trunkline.control.records.people import Users
from trunkline.control.records.session_config import SessionConfig, check_choices
from trunkline.control.services.config import runtime_type
from trunkline.control.store import schema, service_schema
from trunkline.control.store.engine import Store
from trunkline.wire.commands import DEFAULT_RUNTIME


class Agent(msgspec.Struct, kw_only=True):
    """An agent. `skills` and `mcp_servers` of null mean: all that its user may use; `agent_app`
    is the app that runs it on an AGP device; `workspace` the folder of its machine that it works
    in, `acp` the program of the runtime of that name."""

    id: str
    org_id: str
    user_id: str
    name: str
    description: str | None
    system_prompt: str | None
    model: str | None
    temperature: float | None
    max_tokens: int | None
    tools: list[str] | None
    confirm: Confirm
    permission_mode: PermissionMode | None
    runtime_type: RuntimeType | None
    skills: list[str] | None
    mcp_servers: list[str] | None
    sub_agents: list[str] | None
    session_config: SessionConfig | None
    openclaw_config: Json | None
    agent_app: str | None
    workspace: str | None
    acp: AcpProgram | None
    created_at: int


class NewAgent(msgspec.Struct, kw_only=True):
    """`confirm`: which tools ask a person first; `permission_mode`, where it is set, says it
    instead. `user_id`: only for who may act for that user."""

    name: Name
    user_id: Id | None = None
    description: Text | None = None
    system_prompt: Text | None = None
    model: Name | None = None
    temperature: Temperature | None = None
    max_tokens: MaxTokens | None = None
    tools: Names | None = None
    confirm: Confirm = "dangerous"
    permission_mode: PermissionMode | None = None
    runtime_type: RuntimeType | None = None
    skills: Names | None = None
    mcp_servers: Names | None = None
    sub_agents: Names | None = None
    session_config: SessionConfig | None = None
    openclaw_config: Json | None = None
    agent_app: AgentApp | None = None
    workspace: Workspace | None = None
    acp: Acp | None = None


class AgentPatch(msgspec.Struct, kw_only=True):
    """What is left out stays as it is; null clears a value."""

    name: Name | UnsetType = UNSET
    description: Text | UnsetType | None = UNSET
    system_prompt: Text | UnsetType | None = UNSET
    model: Name | UnsetType | None = UNSET
    temperature: Temperature | UnsetType | None = UNSET
    max_tokens: MaxTokens | UnsetType | None = UNSET
    tools: Names | UnsetType | None = UNSET
    confirm: Confirm | UnsetType = UNSET
    permission_mode: PermissionMode | UnsetType | None = UNSET
    runtime_type: RuntimeType | UnsetType | None = UNSET
    skills: Names | UnsetType | None = UNSET
    mcp_servers: Names | UnsetType | None = UNSET
    sub_agents: Names | UnsetType | None = UNSET
    session_config: SessionConfig | UnsetType | None = UNSET
    openclaw_config: Json | UnsetType | None = UNSET
    agent_app: AgentApp | UnsetType | None = UNSET
    workspace: Workspace | UnsetType | None = UNSET
    acp: Acp | UnsetType | None = UNSET


class Agents(SeenRows[Agent]):
    """The records of agents."""

    def __init__(
        self,
        store: Store,
        users: Users,
        clock: Clock,
        quotas: Quotas,
    ) -> None:
        super().__init__(store, schema.agents, Agent, "agent")
        self._users = users
        self._clock = clock
        self._quotas = quotas

    async def create(self, who: Principal, new: NewAgent) -> Agent:
        check_choices(new.session_config or {}, "session_config")
        owner = await self._users.get_managed(who, new.user_id or who.user_id)
        await self._check_tools(new.tools, new.runtime_type, owner.id)
        values = msgspec.structs.asdict(new) | {"org_id": owner.org_id, "user_id": owner.id}
        values["acp"] = msgspec.to_builtins(new.acp)
        _check_commands(who, owner.id, values, {})
        agent = Agent(id=new_id(), created_at=self._clock(), **values)
        async with self._store.write() as connection:
            await self._quotas.take(connection, "agents", Owner(owner.org_id, owner.id))
            await connection.execute(self._insert(agent))
        return agent

    async def change(self, who: Principal, agent_id: str, patch: AgentPatch) -> Agent:
        agent = await self.get(who, agent_id)
        changed = changes(patch)
        check_choices(changed.get("session_config") or {}, "session_config")
        if "tools" in changed:
            runtime = changed.get("runtime_type", agent.runtime_type)
            await self._check_tools(changed["tools"], runtime, agent.user_id)
        if "acp" in changed:
            changed["acp"] = msgspec.to_builtins(changed["acp"])
        _check_commands(who, agent.user_id, changed, msgspec.structs.asdict(agent))
        await self._change(agent_id, changed)
        return await self.get(who, agent_id)

    async def remove(self, who: Principal, agent_id: str) -> None:
        """Sessions made with it keep the configuration that they started with."""
        await self.get(who, agent_id)
        await self._remove(agent_id)

    async def _check_tools(self, tools: list[str] | None, runtime: str | None, owner: str) -> None:
        """An agent of our own runtime that is allowed a tool which is none could do nothing. Tools
        of other runtimes are not known here."""
        asked = [one for one in tools or () if not one.startswith(names.MCP_TOOL_PREFIX)]
        if set(asked) <= names.TOOLS:
            return
        users, orgs = schema.users, schema.orgs
        query = (
            select(users.c.org_id, users.c.default_runtime_type, orgs.c.default_runtime_type)
            .join(orgs, orgs.c.id == users.c.org_id)
            .where(users.c.id == owner)
        )
        row = await self._store.first(query)
        if row is None or runtime_type(None, runtime, row[1], row[2]) != DEFAULT_RUNTIME:
            return
        known = set(names.TOOLS)
        for table, column in (
            (service_schema.skills, "skill_id"),
            (service_schema.mcp_servers, "name"),
        ):
            rows = select(table.c[column]).where(table.c.org_id == row[0])
            known.update(await self._store.scalars(rows))
        if problem := names.unknown_of("tool", asked, known):
            raise InvalidRequest(problem, code="UNKNOWN_TOOL")


def _check_commands(who: Principal, owner: str, said: Json, before: Json) -> None:
    """What the owner's machines run unasked is the owner's to say: neither an administrator's, nor
    in the `session_config`, which runtimes read last."""
    if who.user_id == owner:
        return
    for now, then in zip(_programs(said), _programs(before), strict=True):
        is_command = isinstance(now, dict) and (now.get("command") or now.get("env"))
        if is_command and now != then:
            raise Forbidden("a command can be said for your own agents only")


def _programs(agent: Json) -> tuple[object, object]:
    return agent.get("acp"), (agent.get("session_config") or {}).get("acp")
