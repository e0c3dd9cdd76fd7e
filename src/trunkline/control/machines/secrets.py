"""How devices (AGP) and agent hosts (Yeaft) are known: their records, tokens and secrets.

The REST API issues them, the machine edges check them. Execution planes have tickets and signed
tokens instead (`auth`, `vms`); those that joined by a code also a secret that fetches tokens.
"""

from typing import Any

import msgspec
import structlog
from sqlalchemy import ColumnElement, Row, and_, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.keys import digest
from trunkline.control.clock import Clock
from trunkline.control.errors import (
    Conflict,
    LimitReached,
    NotFound,
    TrunklineError,
    Unauthorized,
)
from trunkline.control.ids import new_id, new_secret
from trunkline.control.services.audit import Audit
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import machine_secrets, machines, users

_log = structlog.get_logger(__name__)

DEVICE_PREFIX = "dev"
NODE_PREFIX = "nd"
_ENDED = ("failed", "terminated")


class Known(msgspec.Struct, frozen=True):
    """A device or agent that has shown who it is."""

    machine_id: str
    user_id: str
    guid: str
    agent_apps: list[str]


def is_device_token(token: str) -> bool:
    """Whether it looks like one that `issue_device` made."""
    return token.startswith(DEVICE_PREFIX + "_")


class MachineSecrets:
    """The table, and the machines that belong to it."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        devices_max: int = limits.DEVICES_PER_USER_MAX,
        audit: Audit | None = None,
    ) -> None:
        """`devices_max`: of each kind, of one user. `audit`: gets an entry for each machine that
        nobody registered, which is made known by its first connection."""
        self._store = store
        self._audit = audit
        self._clock = clock
        self._devices_max = devices_max
        self.renewed = 0
        """Counts the tokens that ended before their machine did."""

    async def issue_device(
        self, user_id: str, guid: str | None, agent_apps: list[str]
    ) -> tuple[Known, str]:
        """A device and its token. For a `guid` that the user has already: a new token."""
        token = new_secret(DEVICE_PREFIX)
        known = await self._find(machine_secrets.c.guid == guid, ended=True) if guid else None
        if known is not None:
            if known.user_id != user_id:
                raise Conflict("this guid is taken", code="GUID_TAKEN")
            values: dict[str, Any] = {
                "hash": digest(token),
                "agent_apps": agent_apps or known.agent_apps,
            }
            await self._renew(known, values)
            return msgspec.structs.replace(known, agent_apps=values["agent_apps"]), token
        machine_id = new_id()
        guid, name = guid or machine_id, guid or "device"
        made = await self._add(
            user_id, "agp", name, token, machine_id=machine_id, guid=guid, agent_apps=agent_apps
        )
        return made, token

    async def issue_agent(self, user_id: str, name: str) -> tuple[Known, str]:
        """A Yeaft agent and its secret."""
        secret = new_secret("ya")
        return await self._add(user_id, "yeaft", name, secret), secret

    async def guid_of(self, user_id: str, machine_id: str) -> str:
        """What a device of that user calls itself, whatever people call it."""
        hers = machine_secrets.c.machine_id == machine_id
        row = await self._row(and_(hers, machines.c.user_id == user_id, machines.c.kind == "agp"))
        if row is None or row.guid is None:
            raise NotFound("machine", machine_id)
        return str(row.guid)

    async def renew_agent(self, user_id: str, machine_id: str) -> tuple[Known, str]:
        """A new secret for a Yeaft agent of that user; the old one ends."""
        hers = machine_secrets.c.machine_id == machine_id
        row = await self._row(and_(hers, machines.c.user_id == user_id, machines.c.kind == "yeaft"))
        if row is None or row.state in _ENDED:
            raise NotFound("machine", machine_id)
        secret = new_secret("ya")
        await self._renew(_record(row), {"hash": digest(secret)})
        return _record(row), secret

    async def revoke(self, machine_id: str) -> None:
        """The secret that the machine has ends; it is let in again when it has a new one."""
        hers = machine_secrets.c.machine_id == machine_id
        await self._store.run(update(machine_secrets).where(hers).values(hash=None))
        self.renewed += 1

    async def issue_node(self, connection: AsyncConnection, machine_id: str) -> str:
        """What an execution plane that joined by a code fetches its tokens with; the one that it
        had ends. For the transaction that uses the code up."""
        secret = new_secret(NODE_PREFIX)
        row = {"hash": digest(secret), "agent_apps": [], "created_at": self._clock()}
        hers = machine_secrets.c.machine_id == machine_id
        await connection.execute(delete(machine_secrets).where(hers))
        await connection.execute(insert(machine_secrets).values(machine_id=machine_id, **row))
        return secret

    async def by_node_secret(self, secret: str) -> Known:
        """The execution plane whose secret this is; whether it is still wanted is for others."""
        row = await self._row(
            and_(machine_secrets.c.hash == digest(secret), machines.c.kind == "vm")
        )
        return _known(None if row is None else _record(row, ended=True))

    async def by_token(self, token: str) -> Known:
        """The device whose token this is."""
        return _known(await self._find(machine_secrets.c.hash == digest(token)))

    async def by_agent_secret(self, secret: str) -> Known | None:
        """The Yeaft agent whose own secret this is."""
        wanted = and_(machine_secrets.c.hash == digest(secret), machines.c.kind == "yeaft")
        row = await self._row(wanted)
        return None if row is None else _record(row)

    async def instance(self, user_id: str, instance: str, name: str) -> Known:
        """The Yeaft agent that this user's secret has let in under that name of its own; made at
        first sight."""
        wanted = and_(
            machines.c.user_id == user_id,
            machines.c.kind == "yeaft",
            machines.c.instance == instance,
        )
        row = await self._row(wanted)
        if row is None:
            try:
                return await self._add(user_id, "yeaft", name, None, instance=instance)
            except Conflict:  # another line of it was faster
                row = await self._row(wanted)
        if row is None:
            raise Unauthorized("this agent was removed in the same moment")
        return _record(row)

    async def unproven(self, user_id: str, guid: str) -> Known:
        """The device of that name, on a network that is trusted. One that nobody has is made
        known as that user's; whose a known one is, is for the caller to look at."""
        known = await self._find(machine_secrets.c.guid == guid)
        if known is not None:
            return known
        async with self._store.read() as connection:
            found = await connection.scalar(select(users.c.id).where(users.c.id == user_id))
        if found is None:
            raise Unauthorized("no such user")
        try:
            return await self._add(user_id, "agp", guid, None, guid=guid)
        except Conflict:  # it has just been made known by another connection
            return _known(await self._find(machine_secrets.c.guid == guid))

    async def _add(
        self,
        user_id: str,
        kind: str,
        name: str,
        secret: str | None,
        *,
        machine_id: str | None = None,
        guid: str | None = None,
        agent_apps: list[str] | None = None,
        instance: str | None = None,
    ) -> Known:
        machine_id, agent_apps, now = machine_id or new_id(), agent_apps or [], self._clock()
        try:
            async with self._store.write() as connection:
                await _check_room(connection, user_id, kind, self._devices_max)
                await connection.execute(
                    insert(machines).values(
                        id=machine_id,
                        user_id=user_id,
                        kind=kind,
                        name=name,
                        instance=instance,
                        provider="manual",
                        state="pending",
                        capabilities=[],
                        created_at=now,
                    )
                )
                await connection.execute(
                    insert(machine_secrets).values(
                        machine_id=machine_id,
                        guid=guid,
                        hash=None if secret is None else digest(secret),
                        agent_apps=agent_apps,
                        created_at=now,
                    )
                )
                if secret is None:
                    await self._note_first_sight(connection, user_id, machine_id, kind, name)
        except IntegrityError as error:
            raise Conflict("this name is taken", code="GUID_TAKEN") from error
        return Known(machine_id, user_id, guid or "", agent_apps)

    async def _note_first_sight(
        self, connection: AsyncConnection, user_id: str, machine_id: str, kind: str, name: str
    ) -> None:
        if self._audit is None:
            return
        org_id = await connection.scalar(select(users.c.org_id).where(users.c.id == user_id))
        details = {"machine_id": machine_id, "kind": kind, "name": name, "by": "first connection"}
        try:
            await self._audit.append_to(
                connection, "machine.registered", details, org_id=org_id, user_id=user_id
            )
        except TrunklineError as error:
            _log.error("not in the audit log", entry="machine.registered", code=error.code)

    async def _renew(self, known: Known, values: dict[str, Any]) -> None:
        """A new token; one that was given up is a device again, and counts as one."""
        given_up = and_(machines.c.id == known.machine_id, machines.c.state.in_(_ENDED))
        async with self._store.write() as connection:
            if await connection.scalar(select(machines.c.id).where(given_up)) is not None:
                await _check_room(connection, known.user_id, "agp", self._devices_max)
                await connection.execute(update(machines).where(given_up).values(state="pending"))
            await connection.execute(
                update(machine_secrets)
                .where(machine_secrets.c.machine_id == known.machine_id)
                .values(values)
            )
        self.renewed += 1

    async def _find(self, wanted: ColumnElement[bool], *, ended: bool = False) -> Known | None:
        row = await self._row(and_(wanted, machines.c.kind == "agp"))
        return None if row is None else _record(row, ended=ended)

    async def _row(self, wanted: ColumnElement[bool]) -> Row[Any] | None:
        query = (
            select(machine_secrets, machines.c.user_id, machines.c.state)
            .join(machines, machines.c.id == machine_secrets.c.machine_id)
            .where(wanted)
        )
        async with self._store.read() as connection:
            return (await connection.execute(query)).first()


async def _check_room(connection: AsyncConnection, user_id: str, kind: str, count_max: int) -> None:
    """Raises unless the user may have one more of that kind."""
    mine = and_(
        machines.c.user_id == user_id,
        machines.c.kind == kind,
        machines.c.state.not_in(_ENDED),
    )
    count = await connection.scalar(select(func.count()).select_from(machines).where(mine))
    if count is not None and count >= count_max:
        raise LimitReached(f"this user has {count} of them already; remove one first")


def _record(row: Row[Any], *, ended: bool = False) -> Known:
    """`ended`: one that was given up will do."""
    if row.state in _ENDED and not ended:
        raise Unauthorized("this machine was given up")
    return Known(row.machine_id, row.user_id, row.guid or "", list(row.agent_apps))


def _known(found: Known | None) -> Known:
    if found is None:
        raise Unauthorized("the token is not known")
    return found
