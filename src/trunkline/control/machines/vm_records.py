"""The records of execution planes: who owns them, how many there are, what state they are in.

Only `vms.py` writes here, besides the registry of lines, which sets online and offline.
"""

import msgspec
from sqlalchemy import and_, case, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import LimitReached, NotFound
from trunkline.control.ids import new_id
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import join_codes, machines, tickets, users

ACTIVE = ("pending", "online", "offline")
UPS = "up"
"""The `instance` of the local VM that `trunkline up` keeps for its user."""
UPS_NAME = "this computer"


class Vm(msgspec.Struct, frozen=True):
    """What running a VM needs to know of its record."""

    id: str
    provider: str
    state: str
    user_id: str
    org_id: str
    kind: str
    instance: str | None
    name: str
    tokens_from: int | None

    @property
    def is_ups(self) -> bool:
        """Whether `trunkline up` made it, and is to keep it. Its name was all that earlier versions
        knew it by."""
        is_named = self.instance is None and self.name == UPS_NAME
        return self.provider == "local" and (self.instance == UPS or is_named)


_MACHINES = select(
    machines.c.id,
    machines.c.provider,
    machines.c.state,
    machines.c.user_id,
    users.c.org_id,
    machines.c.kind,
    machines.c.instance,
    machines.c.name,
    machines.c.tokens_from,
).join(users, users.c.id == machines.c.user_id)
_VMS = _MACHINES.where(machines.c.kind == "vm")


class VmRecords:
    """Reads and writes rows of `machines` whose kind is `vm`."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def org_of(self, principal: Principal, user_id: str) -> str:
        """That user's org, if the principal may act for the user."""
        query = select(users.c.org_id).where(users.c.id == user_id)
        async with self._store.read() as connection:
            org_id = await connection.scalar(query)
        if org_id is None or not principal.may_see(org_id=org_id, user_id=user_id):
            raise NotFound("user", user_id)
        return str(org_id)

    async def owned(self, principal: Principal, machine_id: str) -> Vm:
        """NotFound unless the principal may act for the owner of that machine, of any kind."""
        async with self._store.read() as connection:
            row = (await connection.execute(_MACHINES.where(machines.c.id == machine_id))).first()
        if row is None or not principal.may_see(org_id=row.org_id, user_id=row.user_id):
            raise NotFound("machine", machine_id)
        return Vm(*row)

    async def get(self, machine_id: str) -> Vm:
        async with self._store.read() as connection:
            row = (await connection.execute(_MACHINES.where(machines.c.id == machine_id))).first()
        if row is None:
            raise NotFound("machine", machine_id)
        return Vm(*row)

    async def readmit(self, machine_id: str) -> bool:
        """From `failed` to `pending`, if somebody else starts it and its user has room for it."""
        late = and_(
            machines.c.id == machine_id,
            machines.c.kind == "vm",
            machines.c.provider == "manual",
            machines.c.state == "failed",
        )
        async with self._store.write() as connection:
            user_id = await connection.scalar(select(machines.c.user_id).where(late))
            if user_id is None or await _count(connection, user_id) >= limits.VMS_PER_USER_MAX:
                return False
            change = update(machines).where(late).values(state="pending", detail=None)
            return (await connection.execute(change)).rowcount == 1

    async def code_ends_at(self, machine_id: str) -> int:
        """When the last join code that is still good for that machine ends, Unix ms; else 0."""
        query = select(func.max(join_codes.c.expires_at)).where(
            join_codes.c.machine_id == machine_id
        )
        async with self._store.read() as connection:
            return int(await connection.scalar(query) or 0)

    async def active(self) -> list[Vm]:
        """Every VM that is running or expected."""
        query = _VMS.where(machines.c.state.in_(ACTIVE))
        async with self._store.read() as connection:
            return [Vm(*row) for row in await connection.execute(query)]

    async def local_of(self, user_id: str) -> list[Vm]:
        """The user's local VMs that were not given up, the oldest first."""
        query = _VMS.where(
            machines.c.user_id == user_id,
            machines.c.provider == "local",
            machines.c.state != "terminated",
        ).order_by(machines.c.id)
        async with self._store.read() as connection:
            return [Vm(*row) for row in await connection.execute(query)]

    async def add(
        self,
        user_id: str,
        provider: str,
        name: str,
        *,
        instance: str | None = None,
        dialect: str | None = None,
    ) -> str:
        """A new VM in state `pending`; its id. An `instance` is that of one VM of its user, in
        place of one that was given up."""
        machine_id = new_id()
        row: dict[str, object] = {
            "id": machine_id,
            "user_id": user_id,
            "kind": "vm",
            "name": name,
            "provider": provider,
            "instance": instance,
            "state": "pending",
            "capabilities": [],
            "dialect": dialect,
            "created_at": self._clock(),
        }
        async with self._store.write() as connection:
            count = await _count(connection, user_id)
            if count >= limits.VMS_PER_USER_MAX:
                raise LimitReached(
                    f"this user has {count} VMs already; terminate one that is not needed"
                )
            if instance is not None:
                given_up = and_(
                    machines.c.user_id == user_id,
                    machines.c.kind == "vm",
                    machines.c.instance == instance,
                    machines.c.state == "terminated",
                )
                await connection.execute(update(machines).where(given_up).values(instance=None))
            await connection.execute(insert(machines).values(row))
        return machine_id

    async def revoke_tokens(self, machine_id: str) -> None:
        """The tokens and tickets that the machine has end."""
        hers = machines.c.id == machine_id
        # Grows also when the clock stands: each revocation is another one.
        later = func.coalesce(machines.c.tokens_from, 0) + 1
        newer = case((later > self._clock(), later), else_=self._clock())
        async with self._store.write() as connection:
            await connection.execute(update(machines).where(hers).values(tokens_from=newer))
            await connection.execute(delete(tickets).where(tickets.c.machine_id == machine_id))

    async def set_dialect(self, machine_id: str, dialect: str | None) -> None:
        """What is known of how the VM speaks its wire; its next connection goes by it."""
        change = update(machines).where(machines.c.id == machine_id)
        await self._store.run(change.values(dialect=dialect))

    async def rename(self, machine_id: str, name: str, *, is_ups: bool) -> None:
        values = {"name": name}
        if is_ups:
            values["instance"] = UPS  # earlier versions knew it by its name alone
        await self._store.run(update(machines).where(machines.c.id == machine_id).values(values))

    async def tokens_from(self, machine_id: str) -> int | None:
        """What a token for that machine is issued with."""
        query = select(machines.c.tokens_from).where(machines.c.id == machine_id)
        async with self._store.read() as connection:
            found: int | None = await connection.scalar(query)
        return found

    async def set_state(
        self, machine_id: str, state: str, detail: str | None, *, only_from: str | None = None
    ) -> bool:
        """False when there is no such VM, it was terminated before, or is not in that state."""
        before = (
            machines.c.state != "terminated" if only_from is None else machines.c.state == only_from
        )
        change = (
            update(machines)
            .where(and_(machines.c.id == machine_id, before))
            .values(state=state, detail=detail)
        )
        async with self._store.write() as connection:
            return (await connection.execute(change)).rowcount == 1


async def _count(connection: AsyncConnection, user_id: str) -> int:
    """VMs of that user that are running or expected."""
    mine = and_(
        machines.c.user_id == user_id, machines.c.kind == "vm", machines.c.state.in_(ACTIVE)
    )
    return await connection.scalar(select(func.count()).select_from(machines).where(mine)) or 0
