"""What a machine is told when a session starts: the agent, its skills, servers and helpers."""

from typing import Any, get_args

import msgspec
from sqlalchemy import select

from trunkline import limits
from trunkline.control.errors import InvalidRequest
from trunkline.control.log.log import Log
from trunkline.control.records.fields import (
    Acp,
    Confirm,
    MaxTokens,
    Name,
    Names,
    PermissionMode,
    Temperature,
    Text,
    Workspace,
)
from trunkline.control.services import Services
from trunkline.control.sessions.remembered import Remembered
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.wire.commands import Start

Json = dict[str, Any]

DEFAULT_SESSION_CONFIG = {"max_turns": 50, "timeout_seconds": 3600}

_IMPORTED = '"imported":true'
AGENT_FIELDS = (
    "id",
    "name",
    "system_prompt",
    "model",
    "temperature",
    "max_tokens",
    "tools",
    "confirm",
    "permission_mode",
    "agent_app",
    "workspace",
    "acp",
)
_FOLDER = ("workspace", "worktree")
"""Said in either configuration; that of the session wins."""


_ASKING_MODES = ("plan", "ask", "accept_edits")


class _Choices(msgspec.Struct, kw_only=True):
    """What every runtime understands of an agent's configuration, as an agent's record has it.
    Names that only one runtime knows pass."""

    system_prompt: Text | None = None
    model: Name | None = None
    temperature: Temperature | None = None
    max_tokens: MaxTokens | None = None
    tools: Names | None = None
    confirm: Confirm | None = None
    permission_mode: PermissionMode | None = None
    workspace: Workspace | None = None
    worktree: bool | None = None
    acp: Acp | None = None


def check_choices(config: dict[str, Any], name: str = "agent_config") -> None:
    """A machine that is told nonsense goes by its defaults: then a tool would run that a person
    was to be asked about. `session_config` may say the same things."""
    try:
        msgspec.convert(config, _Choices)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{name}: {error}") from error


def configs(agent: Json | None, agent_choices: Json, session_choices: Json) -> tuple[Json, Json]:
    """A new session's `agent_config` and `session_config`: what its agent's record says, with what
    its creator chose on top; unset fields of the agent are left out.

    Runtimes read `session_config` last. Which tools ask first therefore stands in `agent_config`
    alone, wherever it was said: there it is checked, and changed later."""
    check_choices(agent_choices)
    check_choices(session_choices, "session_config")
    known = {name: agent[name] for name in AGENT_FIELDS if agent and agent[name] is not None}
    chosen = {name: value for name, value in agent_choices.items() if value is not None}
    of_agent = (agent or {}).get("session_config") or {}
    session = {**DEFAULT_SESSION_CONFIG, **of_agent, **session_choices}
    for name in _FOLDER:
        if name in chosen and name not in session_choices:
            session.pop(name, None)  # the agent's own, which runtimes would read last
    for name, values in (("confirm", Confirm), ("permission_mode", PermissionMode)):
        said = session.pop(name, None)
        if said in get_args(values):
            chosen[name] = said
    if "confirm" in chosen and "permission_mode" not in chosen:
        known.pop("permission_mode", None)
    return modes_confirm({**known, **chosen}), session


def modes_confirm(config: Json) -> Json:
    """With a `confirm` for runtimes that know no modes: where ours asks, they do."""
    asks = config.get("permission_mode") in _ASKING_MODES
    if not asks or config.get("confirm") not in (None, "never"):
        return config
    return {**config, "confirm": "dangerous"}


class Starting:
    """Makes a session's `Start` from the records, as they are now."""

    def __init__(self, store: Store, services: Services, log: Log) -> None:
        self._store = store
        self._services = services
        self._log = log

    async def build(self, session_id: str) -> Start | None:
        """None for a session that is closed or deleted."""
        sessions, agents = schema.sessions, schema.agents
        async with self._store.read() as connection:
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
            named = (agent["sub_agents"] if agent else None) or []
            wanted = [one for one in named if one != session["agent_id"]]  # nobody asks itself
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
        snapshot = await self._services.snapshots.latest(session_id)
        origin = session["forked_from"] if snapshot is None else None
        return Start(
            session_id=session_id,
            runtime_type=session["runtime_type"],
            agent_config=session["agent_config"],
            skill_index=await self._services.skills.index_for(
                org_id, agent["skills"] if agent else None
            ),
            mcp_servers=await self._services.mcp_servers.index_for(
                org_id, user_id, agent["mcp_servers"] if agent else None
            ),
            sub_agents=[
                {**helper, "description": helper["description"] or ""}
                for helper in map(dict, helpers)
            ],
            session_config=session["session_config"],
            rules=[one.told for one in await self._services.rules.of_session(session_id)],
            openclaw_config=session["openclaw_config"],
            snapshot=snapshot,
            fork=None if origin is None else await self._fork(session_id, origin),
        )

    async def _fork(self, session_id: str, origin: Json) -> Json:
        """For a copy that has no state of its own yet."""
        remembered = Remembered(limits.FORK_HISTORY_BYTES_MAX)
        async for page in self._log.entries(session_id, 0, 0):
            remembered.take(entry.text for entry in page if _IMPORTED in entry.text)
        return {**origin, "history": remembered.messages()}
