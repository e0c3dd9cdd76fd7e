"""Machines as they are stored: whose, which kind, in which state, last seen when.

Reading only. Scheduling and ending them is `vms`' work; what is live right now, the router's.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec
from sqlalchemy import and_, select

from trunkline.control.access.auth import Principal
from trunkline.control.machines.runtimes import Runtime
from trunkline.control.records.page import Page, Paging, SeenRows
from trunkline.control.store import schema
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store

_machines, _users = schema.machines, schema.users


class MachineRecord(msgspec.Struct, kw_only=True):
    """A stored machine. `dialect`: where its wire has both and it is known. `runtimes`: what it
    last said that it can run, and what it lacks; empty when it says nothing of that, null before
    it does. `draining`: it is given no new sessions."""

    id: str
    org_id: str
    user_id: str
    kind: Literal["vm", "agp", "yeaft", "group"]
    name: str
    provider: Literal["manual", "local"]
    state: Literal["pending", "online", "offline", "failed", "terminated"]
    detail: str | None
    capabilities: list[str]
    dialect: Literal["documented", "deployed"] | None
    runtimes: dict[str, Runtime] | None
    draining: bool
    last_seen_at: int | None
    created_at: int


class MachineRecords(SeenRows[MachineRecord]):
    """The stored machines that a person may see."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, _machines, MachineRecord, "machine")

    async def page(
        self, who: Principal, paging: Paging, *, terminated: bool = False
    ) -> Page[MachineRecord]:
        """Those given up by their owner only when asked for."""
        if terminated:
            return await super().page(who, paging)
        return await self._page(paging, self._seen_by(who), _machines.c.state != "terminated")

    async def own(self, user_id: str) -> list[MachineRecord]:
        """The newest of a user's own that were not given up, without groups."""
        mine = (
            _machines.c.user_id == user_id,
            _machines.c.kind != "group",
            _machines.c.state != "terminated",
        )
        return (await self._page(Paging(), *mine)).items

    async def sessions_of(self, machine_ids: Sequence[str]) -> dict[str, list[str]]:
        """The open sessions that are pinned to each of these machines."""
        sessions = schema.sessions
        query = (
            select(sessions.c.machine_id, sessions.c.id)
            .where(and_(among(sessions.c.machine_id, machine_ids), sessions.c.status == "active"))
            .order_by(sessions.c.id)
        )
        found: dict[str, list[str]] = {}
        for machine_id, session_id in await self._store.all(query):
            found.setdefault(machine_id, []).append(session_id)
        return found

    async def ids_of(self, *, user_id: str | None = None, org_id: str | None = None) -> list[str]:
        """The machines, not yet given up, of a user or of an org that is about to be removed."""
        owner = _users.c.id == user_id if user_id is not None else _users.c.org_id == org_id
        query = (
            select(_machines.c.id)
            .join(_users, _users.c.id == _machines.c.user_id)
            .where(and_(owner, _machines.c.state != "terminated"))
        )
        return list(await self._store.scalars(query))
