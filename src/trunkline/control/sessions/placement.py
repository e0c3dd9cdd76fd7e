"""Which sessions are on which machine, as the records say: for the machines' side of sessions."""

from collections.abc import Iterable

from sqlalchemy import Text, cast, or_, select

from trunkline import limits
from trunkline.control.gathering import Gathering
from trunkline.control.ids import is_id, may_be_ours
from trunkline.control.store import schema
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store


class Placement:
    """Asked when a machine is loaded, comes back, or says what it runs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hosted = Gathering(self._hosted_by_all)

    async def hosted_by(self, machine_id: str) -> list[str]:
        """The sessions that the machine has, or has to be told to end."""
        return await self._hosted.get(machine_id) or []

    async def _hosted_by_all(self, machine_ids: list[str]) -> dict[str, list[str]]:
        table = schema.sessions
        open_ones = or_(table.c.status == "active", table.c.unsettled)
        query = select(table.c.machine_id, table.c.id).where(
            among(table.c.machine_id, machine_ids), open_ones
        )
        hosted: dict[str, list[str]] = {}
        for row in await self._store.all(query.order_by(table.c.id)):
            hosted.setdefault(row.machine_id, []).append(row.id)
        return hosted

    async def unsettled(self, machine_id: str) -> list[str]:
        """The closed ones that the machine has to be told to end."""
        table = schema.sessions
        query = select(table.c.id).where(table.c.machine_id == machine_id, table.c.unsettled)
        async with self._store.read() as connection:
            return list(await connection.scalars(query.order_by(table.c.id)))

    async def gone_from(self, machine_id: str, session_ids: Iterable[str]) -> dict[str, str]:
        """Which of these do not belong on that machine any more, with their status: closed or
        removed, active on another machine, or unknown, as after a restore."""
        some, erased = list(session_ids)[: limits.PAGE_MAX], schema.erased_copies
        wanted = erased.c.machine_id == machine_id, among(erased.c.session_id, some)
        removed = await self._store.scalars(select(erased.c.session_id).where(*wanted))
        table = schema.sessions
        known = await self._store.scalars(select(table.c.id).where(among(table.c.id, some)))
        strange = (one for one in some if may_be_ours(one) and one not in known)
        return {
            **dict.fromkeys(strange, "unknown"),
            **dict.fromkeys(removed, "closed"),
            **await self.left(machine_id, some),
        }

    async def departed(self, machine_id: str) -> dict[str, str]:
        """The newest that were moved away from the machine, with their status."""
        table, machines = schema.sessions, schema.machines
        owner = select(machines.c.user_id).where(machines.c.id == machine_id).scalar_subquery()
        query = select(table.c.id, table.c.status).where(
            table.c.user_id == owner,
            table.c.machine_id != machine_id,
            cast(table.c.left_machines, Text).contains(f'"{machine_id}"', autoescape=True),
        )
        rows = await self._store.all(query.order_by(table.c.id.desc()).limit(limits.PAGE_MAX))
        return {row.id: row.status for row in rows}

    async def left(self, machine_id: str, session_ids: Iterable[str]) -> dict[str, str]:
        """The same, of sessions that there are."""
        table = schema.sessions
        some = [one for one in session_ids if is_id(one)][: limits.PAGE_MAX]
        query = select(table.c.id, table.c.status, table.c.machine_id, table.c.left_machines)
        return {
            row.id: row.status
            for row in await self._store.all(query.where(among(table.c.id, some)))
            if (row.machine_id == machine_id and row.status == "closed")
            or (row.machine_id != machine_id and machine_id in (row.left_machines or []))
        }
