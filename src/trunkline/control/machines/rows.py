"""The records of machines, as the router reads and keeps them."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import bindparam, select, update

from trunkline.control.errors import NotFound
from trunkline.control.gathering import Gathering
from trunkline.control.machines.recorded import MachineNow, MachineRow
from trunkline.control.machines.runtimes import stored
from trunkline.control.machines.telling import ENDED
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import machine_secrets, machines, users


class SqlMachineRows:
    """In the record database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows = Gathering(self._get_all)

    async def get(self, machine_id: str) -> MachineRow:
        row = await self._rows.get(machine_id)
        if row is None:
            raise NotFound("machine", machine_id)
        return row

    async def _get_all(self, machine_ids: list[str]) -> dict[str, MachineRow]:
        query = (
            select(
                machines.c.id,
                machines.c.user_id,
                users.c.org_id,
                machines.c.kind,
                machines.c.state,
                machines.c.last_seen_at,
                machines.c.runtimes,
                machines.c.draining,
            )
            .join(users, users.c.id == machines.c.user_id)
            .where(among(machines.c.id, machine_ids))
        )
        found: dict[str, MachineRow] = {}
        for row in await self._store.all(query):
            whose = row.id, row.user_id, row.org_id, row.kind
            says = stored(row.runtimes), row.draining
            found[row.id] = MachineRow(*whose, row.state, row.last_seen_at, *says)
        return found

    async def by_guid(self, guid: str) -> str | None:
        query = select(machine_secrets.c.machine_id).where(machine_secrets.c.guid == guid)
        async with self._store.read() as connection:
            found: str | None = await connection.scalar(query)
        return found

    async def save(self, states: Sequence[MachineNow]) -> None:
        by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for one in states:
            values = _values(one)
            by_columns.setdefault(tuple(values), []).append(values)
        is_it = machines.c.id == bindparam("machine_id")
        changed = update(machines).where(is_it, *(machines.c.state != one for one in ENDED))
        async with self._store.write() as connection:
            for rows in by_columns.values():
                await connection.execute(changed, rows)


def _values(now: MachineNow) -> dict[str, Any]:
    values = {"machine_id": now.id, "state": now.state, "last_seen_at": now.last_seen_ms}
    if now.capabilities is not None:
        values |= {"capabilities": now.capabilities, "detail": now.detail}
        if now.runtimes is not None:
            values["runtimes"] = msgspec.to_builtins(now.runtimes)
    return values
