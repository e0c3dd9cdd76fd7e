"""The records of machines, as the router reads and keeps them."""

import msgspec
from sqlalchemy import select, update

from trunkline.control.errors import NotFound
from trunkline.control.machines.machines import MachineRow
from trunkline.control.machines.runtimes import Runtimes, stored
from trunkline.control.machines.telling import ENDED
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import machine_secrets, machines, users


class SqlMachineRows:
    """In the record database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, machine_id: str) -> MachineRow:
        query = (
            select(
                machines.c.id,
                machines.c.user_id,
                users.c.org_id,
                machines.c.kind,
                machines.c.state,
                machines.c.last_seen_at,
                machines.c.runtimes,
            )
            .join(users, users.c.id == machines.c.user_id)
            .where(machines.c.id == machine_id)
        )
        async with self._store.read() as connection:
            row = (await connection.execute(query)).first()
        if row is None:
            raise NotFound("machine", machine_id)
        return MachineRow(*row[:-1], runtimes=stored(row.runtimes))

    async def by_guid(self, guid: str) -> str | None:
        query = select(machine_secrets.c.machine_id).where(machine_secrets.c.guid == guid)
        async with self._store.read() as connection:
            found: str | None = await connection.scalar(query)
        return found

    async def save(
        self,
        machine_id: str,
        state: str,
        last_seen_ms: int,
        capabilities: list[str] | None,
        detail: str | None,
        runtimes: Runtimes,
    ) -> None:
        values: dict[str, object] = {"state": state, "last_seen_at": last_seen_ms}
        if capabilities is not None:
            values |= {"capabilities": capabilities, "detail": detail}
            if runtimes is not None:
                values["runtimes"] = msgspec.to_builtins(runtimes)
        async with self._store.write() as connection:
            await connection.execute(
                update(machines)
                .where(machines.c.id == machine_id, machines.c.state.not_in(ENDED))
                .values(values)
            )
