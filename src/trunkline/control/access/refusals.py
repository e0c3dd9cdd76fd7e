"""Who asked for something that is somebody else's: refused as if it were not there, and audited.

Edges and the API report every `NotFound`; what exists nowhere is a mistake and leaves no trace.
"""

from collections import Counter

import structlog
from sqlalchemy import Table, or_, select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound
from trunkline.control.services.audit import Audit
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)

_TABLES: dict[str, tuple[Table, tuple[str, ...]]] = {
    "session": (schema.sessions, ("id",)),
    "machine": (schema.machines, ("id",)),
    "device": (schema.machine_secrets, ("machine_id", "guid")),
    "approval": (schema.approvals, ("id", "request_id")),
    "turn": (schema.turns, ("id",)),
    "agent": (schema.agents, ("id",)),
    "user": (schema.users, ("id",)),
    "org": (schema.orgs, ("id",)),
    "person": (schema.persons, ("id",)),
    "group": (schema.machines, ("id",)),
    "connection": (schema.myagent_runs, ("connection_id",)),
}


class Refusals:
    """Writes `access.refused` into the audit log."""

    def __init__(
        self, store: Store, audit: Audit, tasks: Tasks, clock: Clock, per_minute_max: int
    ) -> None:
        self._store = store
        self._audit = audit
        self._tasks = tasks
        self._clock = clock
        self._per_minute_max = per_minute_max
        self._minute = 0
        self._counts: Counter[str] = Counter()

    def note(self, who: Principal, wire: str, error: NotFound) -> None:
        """Does not wait. Of a user's many in a minute, only the first are looked at; that there
        were more is written down instead, so that nobody can hide one behind them."""
        if error.kind not in _TABLES:
            return
        nth = self._counted(who.user_id)
        if nth <= self._per_minute_max:
            self._tasks.spawn(self._note(who, wire, error), "refusal")
        elif nth == self._per_minute_max + 1:
            self._tasks.spawn(self._append(who, wire, "many", ""), "refusals")

    def _counted(self, user_id: str) -> int:
        """How many the user has had in the present minute, with this one."""
        minute = self._clock() // 60_000
        if minute != self._minute:
            self._minute, self._counts = minute, Counter()
        self._counts[user_id] += 1
        return self._counts[user_id]

    async def _note(self, who: Principal, wire: str, error: NotFound) -> None:
        if not await self._exists(error.kind, error.name):
            return
        await self._append(who, wire, error.kind, error.asked)

    async def _append(self, who: Principal, wire: str, kind: str, name: str) -> None:
        _log.warning("access refused", user=who.user_id, kind=kind, wire=wire)
        await self._audit.append(
            "access.refused",
            {"wire": wire, "kind": kind, "id": name[: limits.NAME_CHARS_MAX]},
            org_id=who.org_id,
            user_id=who.user_id,
        )

    async def _exists(self, kind: str, name: str) -> bool:
        table, columns = _TABLES[kind]
        wanted = or_(*(table.c[column] == name for column in columns))
        found = await self._store.scalar(select(table.c[columns[0]]).where(wanted).limit(1))
        return found is not None or (kind == "machine" and await self._exists("device", name))
