"""Session records: what is stored of a session, who may see it, what a new one is made of."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from sqlalchemy import and_, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import LimitReached, NotFound, TooLarge
from trunkline.control.ids import is_id, new_id
from trunkline.control.log.log import Log
from trunkline.control.machines.machine import Machine
from trunkline.control.records.fields import Id, Json, Label, Workspace
from trunkline.control.records.page import Page, Paging, visible
from trunkline.control.services.config import runtime_type as resolve_runtime
from trunkline.control.sessions import others
from trunkline.control.sessions.resuming import Resume
from trunkline.control.sessions.starting import configs
from trunkline.control.sessions.state import SessionState
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import snapshots
from trunkline.control.tuning import DEFAULT

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
    agent_config: Json | None = None
    runtime_type: Runtime | None = None
    machine_id: str | None = None
    title: Label | None = None
    session_config: Json | None = None
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


class Session(msgspec.Struct, kw_only=True):
    """`created_by`: who made it, where that was not its own user."""

    id: str
    org_id: str
    user_id: str
    agent_id: str | None
    machine_id: str | None
    title: str | None
    runtime_type: str
    agent_config: Json
    session_config: Json
    openclaw_config: Json | None
    status: str
    created_by: str | None = None
    forked_from: Json | None = None
    """`session_id` and `turn_id`: up to there it is a copy."""
    created_at: int
    updated_at: int
    last_event_id: int = 0
    resume: Resume | None = None
    """How to go on with it by hand, on its machine; only where one session is asked for."""


class MadeOf(msgspec.Struct, frozen=True, kw_only=True):
    """What a new session runs with: its creator's choices over its agent's over the defaults."""

    runtime_type: str
    agent_config: Json
    session_config: Json
    openclaw_config: Json | None


class LoggedEvent(msgspec.Struct, frozen=True):
    id: int
    data: str


_COLUMNS = [
    schema.sessions.c[name]
    for name in Session.__struct_fields__
    if name not in ("last_event_id", "resume")
]


class SessionRecords:
    """The table, seen with a person's rights."""

    def __init__(
        self,
        store: Store,
        log: Log,
        clock: Clock,
        per_user_max: int = DEFAULT.sessions_per_user_max,
    ) -> None:
        self._store = store
        self._log = log
        self._clock = clock
        self._per_user_max = per_user_max

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
        forked_from: Json | None = None,
    ) -> Session:
        """`adopted`: what it goes on with, which no other open session may have; `snapshot`: the
        state from which it does so. `forked_from`: what it is a copy of. IntegrityError: another
        session has it."""
        now, is_others = self._clock(), who.user_id != machine.user_id
        session = Session(
            id=session_id,
            org_id=machine.org_id,
            user_id=machine.user_id,
            agent_id=new.agent_id,
            machine_id=machine.id,
            title=new.title,
            runtime_type=made_of.runtime_type,
            agent_config=made_of.agent_config,
            session_config=made_of.session_config,
            openclaw_config=made_of.openclaw_config,
            status="active",
            created_by=who.user_id if is_others else None,
            forked_from=forked_from,
            created_at=now,
            updated_at=now,
        )
        row = msgspec.structs.asdict(session) | {"state": SessionState(machine.id).encode()}
        del row["last_event_id"], row["resume"]
        async with self._store.write() as connection:
            await connection.execute(insert(schema.sessions).values({**row, "adopted": adopted}))
            if snapshot is not None:
                size = len(msgspec.json.encode(snapshot))
                kept = {"id": new_id(), "session_id": session_id, "data": snapshot, "bytes": size}
                await connection.execute(insert(snapshots).values({**kept, "created_at": now}))
            await connection.execute(delete(schema.drafts).where(schema.drafts.c.id == session_id))
        return session

    async def draft(self, session_id: str) -> None:
        """A history is about to be written under that id, and `insert` may never come."""
        row = {"id": session_id, "created_at": self._clock()}
        await self._store.run(insert(schema.drafts).values(row))

    async def drafts(self) -> list[str]:
        return [row.id for row in await self._store.all(select(schema.drafts.c.id))]

    async def undraft(self, session_id: str) -> None:
        await self._store.run(delete(schema.drafts).where(schema.drafts.c.id == session_id))

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

    async def check_count(self, user_id: str) -> None:
        """Raises unless that user may have one more session."""
        table = schema.sessions
        mine = select(func.count()).where(table.c.user_id == user_id, table.c.status == "active")
        if (await self._store.scalar(mine) or 0) >= self._per_user_max:
            raise LimitReached(
                f"no room for another session: one user has at most {self._per_user_max:,} "
                "open ones; close some first"
            )

    async def made_of(self, who: Principal, org_id: str, user_id: str, new: NewSession) -> MadeOf:
        """What a new session on a machine of that user runs with. Raises what is wrong with it."""
        await self.check_count(user_id)
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
        if not is_id(session_id):
            raise NotFound("session", session_id)
        table = schema.sessions
        async with self._store.read() as connection:
            row = (
                (await connection.execute(select(*_COLUMNS).where(table.c.id == session_id)))
                .mappings()
                .first()
            )
        if row is None or not who.may_see(org_id=row["org_id"], user_id=row["user_id"]):
            raise NotFound("session", session_id)
        log = await self._log.open(session_id)
        return Session(**row, last_event_id=log.last_id)

    async def page(
        self,
        who: Principal,
        paging: Paging,
        status: str | None = None,
        *,
        machine_id: str | None = None,
        members: bool = True,
    ) -> Page[Session]:
        """Newest first. `members`: also those in which persons take part in a group."""
        table, limit = schema.sessions, paging.limit
        wanted = [] if paging.cursor is None else [table.c.id < paging.cursor]
        if status is not None:
            wanted.append(table.c.status == status)
        if machine_id is not None:
            wanted.append(table.c.machine_id == machine_id)
        if not members:
            wanted.append(table.c.session_config["group"]["session_id"].as_string().is_(None))
        wanted.append(visible(who, table.c.org_id, table.c.user_id, shared=False))
        query = select(*_COLUMNS).where(*wanted).order_by(table.c.id.desc()).limit(limit + 1)
        async with self._store.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        logs = await self._log.open_all(row["id"] for row in rows[:limit])
        items = [Session(**row, last_event_id=logs[row["id"]].last_id) for row in rows[:limit]]
        return Page(items, items[-1].id if len(rows) > limit else None)

    async def update(self, session_id: str, **values: Any) -> None:
        table = schema.sessions
        async with self._store.write() as connection:
            await connection.execute(
                update(table)
                .where(table.c.id == session_id)
                .values(**values, updated_at=self._clock())
            )

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
        return merged

    async def ids_of(self, **owner: str) -> list[str]:
        table = schema.sessions
        wanted = [table.c[name] == value for name, value in owner.items()]
        async with self._store.read() as connection:
            return list(await connection.scalars(select(table.c.id).where(and_(True, *wanted))))

    async def hosted_by(self, machine_id: str) -> list[str]:
        """The sessions that the machine has, or has to be told to end."""
        table = schema.sessions
        open_ones = or_(table.c.status == "active", table.c.unsettled)
        query = select(table.c.id).where(table.c.machine_id == machine_id, open_ones)
        async with self._store.read() as connection:
            return list(await connection.scalars(query.order_by(table.c.id)))

    async def unsettled(self, machine_id: str) -> list[str]:
        """The closed ones that the machine has to be told to end."""
        table = schema.sessions
        query = select(table.c.id).where(table.c.machine_id == machine_id, table.c.unsettled)
        async with self._store.read() as connection:
            return list(await connection.scalars(query.order_by(table.c.id)))

    async def gone_from(self, machine_id: str, session_ids: Iterable[str]) -> dict[str, str]:
        """Which of these ran on that machine and do not belong there any more, with their status:
        closed, or active on another machine."""
        table = schema.sessions
        some = [one for one in session_ids if is_id(one)][: limits.PAGE_MAX]
        query = select(table.c.id, table.c.status, table.c.machine_id, table.c.left_machines)
        async with self._store.read() as connection:
            rows = (await connection.execute(query.where(table.c.id.in_(some)))).all()
        return {
            row.id: row.status
            for row in rows
            if (row.machine_id == machine_id and row.status == "closed")
            or (row.machine_id != machine_id and machine_id in (row.left_machines or []))
        }


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
