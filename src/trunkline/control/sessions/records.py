"""Session records: what is stored of a session, who may see it, what a new one is made of."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta
from sqlalchemy import Select, and_, delete, exists, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound, TooLarge
from trunkline.control.ids import is_id, new_id
from trunkline.control.log.log import Log
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.online import Online
from trunkline.control.quotas import Owner, Quotas
from trunkline.control.records.fields import Id, Json, Label, Workspace
from trunkline.control.records.session_config import AgentConfig, SessionConfig
from trunkline.control.services.config import runtime_type as resolve_runtime
from trunkline.control.sessions import others
from trunkline.control.sessions.picking import Placement
from trunkline.control.sessions.resuming import Resume
from trunkline.control.sessions.starting import configs
from trunkline.control.sessions.state import SessionState
from trunkline.control.sessions.titles import TitledBy
from trunkline.control.sessions.turns import OPEN
from trunkline.control.store import schema
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import snapshots
from trunkline.control.watchers import Watchers

Runtime = Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]{0,39}$")]


class Adopt(msgspec.Struct, kw_only=True):
    """A conversation that another program has on the machine: `GET
    /machines/{id}/foreign-sessions`."""

    runtime: Runtime
    id: Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS_MAX)]
    preset: Runtime | None = None


class NewSession(msgspec.Struct, kw_only=True):
    """What a client may choose; without a machine, one that is online is picked. `workspace`: the
    folder that it works in, on its machine; `worktree`: in a git worktree of its own made of it."""

    agent_id: str | None = None
    agent_config: AgentConfig | None = None
    runtime_type: Runtime | None = None
    machine_id: str | None = None
    title: Label | None = None
    session_config: SessionConfig | None = None
    openclaw_config: Json | None = None
    adopt: Adopt | None = None
    workspace: Workspace | None = None
    worktree: bool | None = None

    @property
    def choices(self) -> Json:
        """`session_config`, with what is said of the folder beside it."""
        chosen = {"workspace": self.workspace, "worktree": self.worktree}
        said = {name: value for name, value in chosen.items() if value is not None}
        return {**(self.session_config or {}), **said}


class NewMessage(msgspec.Struct, kw_only=True):
    message: Annotated[str, Meta(min_length=1, max_length=limits.MESSAGE_CHARS_MAX)]
    metadata: Json | None = None
    client_message_id: Label | None = None
    attachment_ids: Annotated[list[Id], Meta(max_length=limits.ATTACHMENTS_MAX)] = []
    """Of files that were uploaded ahead: `POST /uploads`."""
    when_busy: Literal["queue", "steer", "replace"] = "queue"
    """While a turn runs: wait for its end, reach it at its next step, or stop it first."""


SessionStatus = Literal["active", "closed"]
State = Literal["running", "needs_you", "idle", "offline", "closed"]


class LastTurn(msgspec.Struct, frozen=True, kw_only=True):
    """How the turn that ended last has ended, and when."""

    status: Literal["completed", "failed", "cancelled"]
    ended_at: int


class ForkedFrom(TypedDict):
    """Up to that turn it is a copy of that session."""

    session_id: str
    turn_id: str | None


class Session(msgspec.Struct, kw_only=True):
    """`created_by`: who made it, where that was not its own user. `state`: what lists show;
    `needs_you` while a question waits for a person, `offline` while its machine is away.
    `last_activity_at`: when somebody last said, asked or answered something. `titled_by`: whose
    word the title is, a person's, that of the first message, or a model's; null for one that it
    was made with from something else, and for old ones."""

    id: str
    org_id: str
    user_id: str
    agent_id: str | None
    machine_id: str | None
    title: str | None
    titled_by: TitledBy | None = None
    runtime_type: str
    agent_config: Json
    session_config: Json
    openclaw_config: Json | None
    status: SessionStatus
    state: State = "idle"
    pinned: bool = False
    archived: bool = False
    last_activity_at: int
    last_turn: LastTurn | None = None
    created_by: str | None = None
    forked_from: ForkedFrom | None = None
    created_at: int
    updated_at: int
    last_event_id: int = 0
    resume: Resume | None = None
    """How to go on with it by hand, on its machine; only where one session is asked for."""
    placement: Placement | None = None
    """Only in the answer to whoever made it."""


class MadeOf(msgspec.Struct, frozen=True, kw_only=True):
    """What a new session runs with: its creator's choices over its agent's over the defaults."""

    runtime_type: str
    agent_config: Json
    session_config: Json
    openclaw_config: Json | None


class LoggedEvent(msgspec.Struct, frozen=True):
    id: int
    data: str


_COMPUTED = ("state", "last_turn", "last_event_id", "resume", "placement")
_sessions, _turns, _asked = schema.sessions, schema.turns, schema.approvals
_COLUMNS = [_sessions.c[name] for name in Session.__struct_fields__ if name not in _COMPUTED]
needs_you = exists().where(_asked.c.session_id == _sessions.c.id, _asked.c.state == "pending")
"""Whether a question of the session waits for a person: a condition for queries."""
is_running = exists().where(_turns.c.session_id == _sessions.c.id, _turns.c.state.in_(OPEN))


def listed() -> Select[Any]:
    """The rows of which `SessionRecords.made` makes what lists and pages show."""
    return select(
        *_COLUMNS,
        _sessions.c.last_turn_status,
        _sessions.c.last_turn_ended_at,
        needs_you.label("needs_you"),
        is_running.label("is_running"),
    )


class SessionRecords:
    """The table, seen with a person's rights."""

    def __init__(
        self,
        store: Store,
        log: Log,
        clock: Clock,
        quotas: Quotas,
        online: Online,
        changed: Watchers[str],
    ) -> None:
        """`changed`: told of new ones, and of those that are different by what a person did."""
        self._online = online
        self._store = store
        self._log = log
        self._clock = clock
        self._quotas = quotas
        self._changed = changed

    async def insert(
        self,
        who: Principal,
        machine: Machine,
        new: NewSession,
        made_of: MadeOf,
        session_id: str,
        *,
        adopted: str | None = None,
        snapshot: Json | None = None,
        forked_from: ForkedFrom | None = None,
        imported_id: int | None = None,
    ) -> Session:
        """`adopted`: what it goes on with, which no other open session may have; `snapshot`: the
        state from which it does so. `forked_from`: what it is a copy of. `imported_id`: up to which
        event it comes from elsewhere. IntegrityError: another session has what is adopted."""
        now, is_others = self._clock(), who.user_id != machine.user_id
        session = Session(
            id=session_id,
            org_id=machine.org_id,
            user_id=machine.user_id,
            agent_id=new.agent_id,
            machine_id=machine.id,
            title=new.title,
            titled_by="user" if new.title and not (adopted or forked_from) else None,
            runtime_type=made_of.runtime_type,
            agent_config=made_of.agent_config,
            session_config=made_of.session_config,
            openclaw_config=made_of.openclaw_config,
            status="active",
            state="idle" if machine.id in self._online else "offline",
            last_activity_at=now,
            created_by=who.user_id if is_others else None,
            forked_from=forked_from,
            created_at=now,
            updated_at=now,
        )
        row = {column.name: getattr(session, column.name) for column in _COLUMNS}
        row["state"] = SessionState(machine.id).encode()
        owner = Owner(machine.org_id, machine.user_id)
        async with self._store.write() as connection:
            await self._quotas.take(connection, "sessions", owner)
            await connection.execute(
                insert(schema.sessions).values(
                    {**row, "adopted": adopted, "imported_id": imported_id}
                )
            )
            if snapshot is not None:
                size = len(msgspec.json.encode(snapshot))
                kept = {"id": new_id(), "session_id": session_id, "data": snapshot, "bytes": size}
                await connection.execute(insert(snapshots).values({**kept, "created_at": now}))
            await connection.execute(delete(schema.drafts).where(schema.drafts.c.id == session_id))
        self._changed.tell(session_id)
        return session

    async def adopted_on(self, machine_id: str) -> dict[str, str]:
        """The open sessions that go on with another program's conversation there, by its name."""
        table, prefix = schema.sessions, f"{machine_id} "
        query = select(table.c.adopted, table.c.id).where(
            table.c.machine_id == machine_id,
            table.c.status == "active",
            table.c.adopted.startswith(prefix, autoescape=True),
        )
        rows = await self._store.all(query)
        return {row.adopted.removeprefix(prefix): row.id for row in rows}

    async def having(self, adopted: str) -> str | None:
        """The open session that goes on with that."""
        table = schema.sessions
        wanted = table.c.adopted == adopted, table.c.status == "active"
        found: str | None = await self._store.scalar(select(table.c.id).where(*wanted))
        return found

    async def check_room(self, org_id: str, user_id: str) -> None:
        """Raises unless that user may have one more session."""
        await self._quotas.check("sessions", Owner(org_id, user_id))
        await self._quotas.check_stored(user_id)

    async def check_turn(self, user_id: str) -> None:
        """Raises unless that user may begin another turn."""
        await self._quotas.check_stored(user_id)

    async def made_of(self, who: Principal, org_id: str, user_id: str, new: NewSession) -> MadeOf:
        """What a new session on a machine of that user runs with. Raises what is wrong with it."""
        await self.check_room(org_id, user_id)
        async with self._store.read() as connection:
            agent = await _agent(connection, who, org_id, new.agent_id)
            users, orgs = schema.users, schema.orgs
            defaults = (
                await connection.execute(
                    select(users.c.default_runtime_type, orgs.c.default_runtime_type)
                    .join(orgs, orgs.c.id == users.c.org_id)
                    .where(users.c.id == user_id)
                )
            ).one()
            is_others = who.user_id != user_id
            rule = await others.owners_rule(connection, user_id) if is_others else None
        config, session_config = configs(agent, new.agent_config or {}, new.choices)
        if rule is not None:
            config, session_config = others.under(rule, config), others.modeless(session_config)
        before, session_before = configs(agent, {}, {})
        if others.is_weaker({**config, **session_config}, {**before, **session_before}):
            who.require("approve")
        others.check_program(
            who, {**config, **session_config}, before, user_id, (agent or {}).get("user_id")
        )
        return MadeOf(
            runtime_type=resolve_runtime(
                new.runtime_type, agent["runtime_type"] if agent else None, *defaults
            ),
            agent_config=config,
            session_config=session_config,
            openclaw_config=new.openclaw_config or (agent or {}).get("openclaw_config"),
        )

    async def get(self, who: Principal, session_id: str) -> Session:
        found = await self.some([session_id]) if is_id(session_id) else []
        if not found or not who.may_see(org_id=found[0].org_id, user_id=found[0].user_id):
            raise NotFound("session", session_id)
        return found[0]

    async def some(self, session_ids: Sequence[str]) -> list[Session]:
        """Those of them that there are, as lists show them; who may see them is not asked."""
        return await self.made(listed().where(among(_sessions.c.id, session_ids)))

    async def made(self, query: Select[Any]) -> list[Session]:
        """The sessions of a query that is made of `listed()`."""
        async with self._store.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        logs = await self._log.open_all(row["id"] for row in rows)
        return [self._made(row, logs[row["id"]].last_id) for row in rows]

    def _made(self, row: Mapping[Any, Any], last_event_id: int) -> Session:
        state: State = "running" if row["is_running"] else "idle"
        if row["machine_id"] not in self._online:
            state = "offline"
        if row["needs_you"]:  # also while its machine is away: the answer waits for it
            state = "needs_you"
        if row["status"] == "closed":
            state = "closed"
        ended = row["last_turn_status"], row["last_turn_ended_at"]
        return Session(
            **{column.name: row[column.name] for column in _COLUMNS},
            state=state,
            last_turn=LastTurn(status=ended[0], ended_at=ended[1]) if ended[0] else None,
            last_event_id=last_event_id,
        )

    async def update(self, session_id: str, **values: Any) -> None:
        table = schema.sessions
        async with self._store.write() as connection:
            await connection.execute(
                update(table)
                .where(table.c.id == session_id)
                .values(**values, updated_at=self._clock())
            )
        self._changed.tell(session_id)

    async def owners_rule(self, user_id: str) -> str:
        """What has to be asked first on that user's machines when somebody else configures."""
        async with self._store.read() as connection:
            return await others.owners_rule(connection, user_id)

    async def reconfigure(self, session_id: str, patch: Json) -> Json:
        """Merges into the agent's configuration, in one transaction: no patch is lost. Returns
        the whole."""
        table = schema.sessions
        async with self._store.write() as connection:
            query = select(table.c.agent_config).where(table.c.id == session_id)
            config = await connection.scalar(query.with_for_update())
            merged = {**(config or {}), **patch}
            if len(msgspec.json.encode(merged)) > limits.BODY_BYTES_MAX:
                raise TooLarge("the session's configuration has become too large")
            await connection.execute(
                update(table)
                .where(table.c.id == session_id)
                .values(agent_config=merged, updated_at=self._clock())
            )
        self._changed.tell(session_id)
        return merged

    async def ids_of(self, **owner: str) -> list[str]:
        table = schema.sessions
        wanted = [table.c[name] == value for name, value in owner.items()]
        async with self._store.read() as connection:
            return list(await connection.scalars(select(table.c.id).where(and_(True, *wanted))))


async def _agent(
    connection: AsyncConnection, who: Principal, org_id: str, agent_id: str | None
) -> Json | None:
    if agent_id is None:
        return None
    agents = schema.agents
    query = select(agents).where(agents.c.id == agent_id)
    agent = (await connection.execute(query)).mappings().first()
    if (
        agent is None
        or agent["org_id"] != org_id
        or not who.may_see(org_id=agent["org_id"], user_id=agent["user_id"])
    ):
        raise NotFound("agent", agent_id)
    return dict(agent)
