"""What a machine is told when a session starts: the agent, its skills, servers and helpers."""

from collections.abc import Mapping
from typing import Any, get_args

from sqlalchemy import select

from trunkline import limits
from trunkline.control.log.log import Log
from trunkline.control.records.fields import Confirm, PermissionMode
from trunkline.control.records.session_config import check_choices
from trunkline.control.services import Services
from trunkline.control.sessions import notes
from trunkline.control.sessions.remembered import Remembered
from trunkline.control.store import schema
from trunkline.control.store.among import among
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


_NETWORK = ("network", "network_hosts")
_TITLES = "titles"
_ASKING_MODES = ("plan", "ask", "accept_edits")


def configs(agent: Json | None, agent_choices: Json, session_choices: Json) -> tuple[Json, Json]:
    """A new session's `agent_config` and `session_config`: what its agent's record says, with what
    its creator chose on top; unset fields of the agent are left out.

    Runtimes read `session_config` last. Which tools ask first and what the network is therefore
    stands in `agent_config` alone, wherever it was said: there it is checked, and changed later."""
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
    for name in _NETWORK:
        said = session.pop(name, None)
        if said is not None and (name in session_choices or name not in chosen):
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

    def __init__(
        self, store: Store, services: Services, log: Log, *, model_titles: bool = False
    ) -> None:
        self._store = store
        self._services = services
        self._log = log
        self._model_titles = model_titles

    async def build(self, session_id: str) -> Start | None:
        """None for a session that is closed or deleted."""
        sessions, agents, machines = schema.sessions, schema.agents, schema.machines
        async with self._store.read() as connection:
            session = (
                (await connection.execute(select(sessions).where(sessions.c.id == session_id)))
                .mappings()
                .first()
            )
            if session is None or session["status"] != "active":
                return None
            runtimes = await connection.scalar(
                select(machines.c.runtimes).where(machines.c.id == session["machine_id"])
            )
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
                            among(agents.c.id, wanted),
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
            session_config={**self._titles(session, runtimes), **session["session_config"]},
            openclaw_config=session["openclaw_config"],
            snapshot=snapshot,
            fork=None if snapshot is not None else await self._past(session),
            # Last: the rest may take its time, and rules that change meanwhile are to be in it.
            rules=[one.told for one in await self._services.rules.of_session(session_id)],
        )

    def _titles(self, session: Mapping[Any, Any], runtimes: Json | None) -> Json:
        """Whether the machine is to ask the model for a title: one that can, of a session that
        nobody has named."""
        known = ((runtimes or {}).get(session["runtime_type"]) or {}).get("settings") or ()
        is_open = session["title"] is None or session["titled_by"] == "message"
        wanted = self._model_titles and is_open and _TITLES in known
        return {_TITLES: True} if wanted and _TITLES not in session["agent_config"] else {}

    async def _past(self, session: Mapping[Any, Any]) -> Json | None:
        """For a copy, and for one that was imported: what was said before. The machine has the
        state of the one that it is a copy of, where its turns have other names, and of an imported
        one none."""
        upto = session["imported_id"]
        origin = {"session_id": "", "turn_id": ""} if upto is not None else session["forked_from"]
        if origin is None:
            return None
        remembered = Remembered(limits.FORK_HISTORY_BYTES_MAX)
        turns: dict[str, str] = {}
        async for page in self._log.entries(session["id"], 0, 0):
            for note in (notes.decode(one.text) for one in page if one.note and upto is None):
                if isinstance(note, notes.Copied):
                    turns = note.turns
            remembered.take(
                one.text
                for one in page
                if not one.note and (one.event_id <= upto if upto else _IMPORTED in one.text)
            )
        return {**origin, "turns": turns, "history": remembered.messages()}
