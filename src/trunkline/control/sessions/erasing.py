"""Removes a session for good: its log, its records, what was sent along with its messages, and what
its machines keep of it.

What it did on its machine stays there: files in its workspace, and a worktree that nobody applied.
Usage keeps its sums, the audit log its entries. The mark that it is to go is written first and gone
last: what a killed process has left undone is done at the next start.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import structlog
from sqlalchemy import delete, insert, select, update

from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound, TrunklineError
from trunkline.control.log.log import Log
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.services.audit import Audit
from trunkline.control.sessions.drafts import Drafts
from trunkline.control.sessions.records import Session
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.signals import Signals
from trunkline.control.storage import Storage
from trunkline.control.store.among import among
from trunkline.control.store.engine import AnyRow, Store
from trunkline.control.store.schema import (
    erased_copies,
    erasures,
    group_seats,
    machines,
    sessions,
)
from trunkline.control.store.service_schema import evolutions, usage
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)

_KNOWN_MS = 90 * 24 * 3_600_000
"""A machine that comes back within that time is told to remove what it has."""
_TOLD_AT_ONCE_MAX = 1_000
_REASON = "user_closed"
"""With which a machine removes a session's folder."""


class Erasing:
    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        drafts: Drafts,
        machines: Machines,
        log: Log,
        audit: Audit,
        storage: Storage,
        tasks: Tasks,
        clock: Clock,
        signals: Signals,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._drafts = drafts
        self._machines = machines
        self._log = log
        self._audit = audit
        self._storage = storage
        self._tasks = tasks
        self._clock = clock
        self._one = asyncio.Lock()
        self._holding: set[str] = set()
        """Machines that may have something of sessions that are gone."""
        self._told: dict[str, int] = {}
        """The lines on which they were told."""
        self._erased = signals.erased
        signals.machines.watch(self._changed)

    async def erase(self, who: Principal, session_id: str) -> None:
        """The machine is told to stop it first, now or when it is back. A group's conversation
        goes with the sessions of its persons."""
        who.require("talk")
        async with self._one:
            self._storage.check(is_new=False)  # before the mark: who is refused has changed nothing
            session = await self._sessions.get(who, session_id)
            await self._mark(session, who.user_id)
            await self._sessions.close(who, session_id)  # from here on nobody takes a seat in it
            # Before the group's own: where that is gone, nobody finds them again.
            for member_id in await self._members(session_id):
                with contextlib.suppress(NotFound):
                    member = await self._sessions.get(who, member_id)
                    await self._mark(member, who.user_id)
                    await self._erase(who, member)
            await self._erase(who, session)

    async def _erase(self, who: Principal, session: Session) -> None:
        await self._sessions.close(who, session.id)
        machine = await self._machines.of(session)
        with machine.input() as core:
            core.release(session.id)
        left = await self._remove(session.id)
        for machine_id in left.difference([machine.id]):
            self._tell(machine_id, [session.id])
        self._erased.tell(session)
        await self._finish(session.id, session.org_id, session.user_id, who.user_id)

    async def _mark(self, session: Session, erased_by: str) -> None:
        row = {"id": session.id, "org_id": session.org_id, "user_id": session.user_id}
        async with self._store.write() as connection:
            await connection.execute(delete(erasures).where(erasures.c.id == session.id))
            await connection.execute(
                insert(erasures).values(**row, erased_by=erased_by, created_at=self._clock())
            )

    async def _members(self, session_id: str) -> Sequence[str]:
        group = sessions.c.session_config["group"]["session_id"].as_string()
        owner = select(sessions.c.user_id).where(sessions.c.id == session_id).scalar_subquery()
        return await self._store.scalars(
            select(sessions.c.id).where(sessions.c.user_id == owner, group == session_id)
        )

    async def _remove(self, session_id: str) -> set[str]:
        """Its records, then its log. Returns the machines that may have something of it."""
        this = sessions.c.id == session_id
        having: set[str] = set()
        async with self._store.write() as connection:
            query = select(sessions.c.machine_id, sessions.c.left_machines).where(this)
            row = (await connection.execute(query)).first()
            if row is not None:
                named = {*filter(None, [row.machine_id]), *(row.left_machines or ())}
                known = select(machines.c.id).where(among(machines.c.id, named))
                having = set(await connection.scalars(known))
            now = self._clock()
            old = erased_copies.c.created_at < now - _KNOWN_MS
            await connection.execute(delete(erased_copies).where(old))
            for machine_id in having:
                copy = {"session_id": session_id, "machine_id": machine_id, "created_at": now}
                await connection.execute(insert(erased_copies).values(copy))
            # What was used stays; what a machine said about it may quote what was said.
            of_session = usage.c.session_id == session_id
            await connection.execute(update(usage).where(of_session).values(details={}))
            await connection.execute(
                delete(evolutions).where(
                    evolutions.c.session_id == session_id, evolutions.c.state != "approved"
                )
            )
            seat = group_seats.c.member_session_id == session_id
            await connection.execute(delete(group_seats).where(seat))
            await connection.execute(delete(sessions).where(this))
        self._holding |= having
        await self._log.delete(session_id)
        return having

    async def _finish(self, session_id: str, org_id: str, owner: str, erased_by: str) -> None:
        """What was done is done, also while the audit log is broken."""
        _log.info("session removed for good", session=session_id)
        try:
            await self._audit.append(
                "session.erased",
                {"owner": owner},
                org_id=org_id,
                user_id=erased_by,
                session_id=session_id,
            )
        except TrunklineError as error:
            _log.error("not in the audit log", code=error.code, session=session_id)
        await self._store.run(delete(erasures).where(erasures.c.id == session_id))

    async def recover(self) -> None:
        """At the start, before anybody is let in: does what a killed process has left undone."""
        marked = {row.id: row for row in await self._store.all(select(erasures))}
        for session_id, row in marked.items():
            for member_id in await self._members(session_id):
                if member_id not in marked:
                    await self._recover(member_id, row)
            await self._recover(session_id, row)
        copies = select(erased_copies.c.machine_id).distinct()
        self._holding.update(await self._store.scalars(copies))

    async def _recover(self, session_id: str, row: AnyRow) -> None:
        await self._remove(session_id)
        await self._finish(session_id, row.org_id, row.user_id, row.erased_by)

    @contextlib.asynccontextmanager
    async def owner_removed(self, session_ids: Sequence[str]) -> AsyncIterator[None]:
        """Around what removes a user or an organisation, and with them the records of these
        sessions: their logs go too, also when the process dies in between."""
        await self._drafts.note(session_ids)
        try:
            yield
        finally:
            await self._drafts.clear(session_ids)

    # What machines have of them

    def _changed(self, machine: Machine) -> None:
        """A machine that numbers its events is our own, or built like it: it removes what it has of
        a session that it is told to end, whether it runs or not. Others are told of what they say
        that they run."""
        line = machine.core.state.line_number
        if machine.line is None or machine.id not in self._holding:
            return
        if not machine.core.state.traits.numbers or self._told.get(machine.id) == line:
            return
        self._told[machine.id] = line
        self._tasks.spawn(self._tell_all(machine.id), "removed sessions")

    async def _tell_all(self, machine_id: str) -> None:
        of_machine = erased_copies.c.machine_id == machine_id
        newest = select(erased_copies.c.session_id).where(of_machine)
        newest = newest.order_by(erased_copies.c.created_at.desc()).limit(_TOLD_AT_ONCE_MAX)
        self._tell(machine_id, await self._store.scalars(newest))

    def _tell(self, machine_id: str, session_ids: Sequence[str]) -> None:
        machine = self._machines.find(machine_id)
        if machine is not None and machine.line is not None:
            with machine.input() as core:
                core.stop_strays(dict.fromkeys(session_ids, _REASON))
