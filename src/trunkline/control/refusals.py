"""Who asked for something that is somebody else's: refused as if it were not there, and audited.

Edges and the API report every `NotFound`; what exists nowhere is a mistake and leaves no trace.
"""

import structlog
from sqlalchemy import Table, or_, select

from trunkline import limits
from trunkline.control.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound
from trunkline.control.services.audit import Audit
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks
from trunkline.wire.rate import RateLimit

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

    def __init__(self, store: Store, audit: Audit, tasks: Tasks, clock: Clock) -> None:
        self._store = store
        self._audit = audit
        self._tasks = tasks
        self._clock = clock
        self._rate = RateLimit(limits.REFUSALS_AUDITED_PER_MINUTE_MAX)

    def note(self, who: Principal, wire: str, error: NotFound) -> None:
        """Does not wait. Of many in a minute, only the first are looked at."""
        if error.kind in _TABLES and self._rate.count(self._clock() / 1000):
            self._tasks.spawn(self._note(who, wire, error), "refusal")

    async def _note(self, who: Principal, wire: str, error: NotFound) -> None:
        if not await self._exists(error.kind, error.name):
            return
        _log.warning("access refused", user=who.user_id, kind=error.kind, wire=wire)
        await self._audit.append(
            "access.refused",
            {"wire": wire, "kind": error.kind, "id": error.name[: limits.NAME_CHARS_MAX]},
            org_id=who.org_id,
            user_id=who.user_id,
        )

    async def _exists(self, kind: str, name: str) -> bool:
        table, columns = _TABLES[kind]
        wanted = or_(*(table.c[column] == name for column in columns))
        async with self._store.read() as connection:
            found = await connection.scalar(select(table.c[columns[0]]).where(wanted).limit(1))
        return found is not None or (kind == "machine" and await self._exists("device", name))
