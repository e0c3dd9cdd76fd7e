"""Codes with which a machine fetches its own credentials: short enough to be read out, good once.

A code stands for a machine whose record is there already. Only its hash is kept. One that was used
is forgotten, and then like one that never was; one that ended unused is known for a day, so that
whoever comes late is told so, and the machine that was made for it goes.
"""

import contextlib
import secrets

import msgspec
import structlog
from sqlalchemy import delete, func, insert, select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import digest
from trunkline.control.clock import Clock
from trunkline.control.errors import (
    Conflict,
    Expired,
    InvalidRequest,
    LimitReached,
    NotFound,
    Unauthorized,
)
from trunkline.control.machines.secrets import MachineSecrets
from trunkline.control.machines.vms import Scheduled, Vms
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import join_codes, machines, users

_log = structlog.get_logger(__name__)

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's: none of its letters looks like another, or like a digit."""
_CHARS = 12  # 60 bits, for a quarter of an hour, at a few tries a second
_GROUP = 4
_ALIKE = str.maketrans({"O": "0", "I": "1", "L": "1", "-": "", " ": ""})
_KNOWN_MS = 24 * 3600 * 1000
_NEW_NAME = "new machine"
_UNUSED = "its join code ended unused"


class Made(msgspec.Struct, frozen=True):
    code: str
    machine_id: str
    expires_at: int


class Joined(msgspec.Struct, frozen=True):
    """A machine that has used its code, and what it connects with from now on."""

    owner: Principal
    scheduled: Scheduled
    secret: str


class Withdrawn(msgspec.Struct, frozen=True):
    machine_id: str
    org_id: str
    user_id: str


def plain_code(text: str) -> str:
    """A code as it was made, however somebody typed it."""
    return text.strip().upper().translate(_ALIKE)


class JoinCodes:
    """The table, and what becomes of the machines that its codes stand for."""

    def __init__(self, store: Store, vms: Vms, node_secrets: MachineSecrets, clock: Clock) -> None:
        self._store = store
        self._vms = vms
        self._secrets = node_secrets
        self._clock = clock

    async def make(
        self, who: Principal, user_id: str, *, name: str | None, machine_id: str | None
    ) -> Made:
        """A code for a new machine of that user, or for one that is there. Without a `name` the
        new one says itself what it is called."""
        await self._check_room(user_id)
        is_new = machine_id is None
        if machine_id is None:
            within_s = limits.JOIN_CODE_LIFE_S
            machine_id = await self._vms.expect(who, user_id, name or _NEW_NAME, within_s=within_s)
        else:
            await self._check_machine(user_id, machine_id)
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_CHARS))
        now = self._clock()
        end = now + int(limits.JOIN_CODE_LIFE_S * 1000)
        row = {
            "hash": digest(code),
            "user_id": user_id,
            "machine_id": machine_id,
            "makes_machine": is_new,
            "names_itself": is_new and name is None,
            "created_at": now,
            "expires_at": end,
        }
        async with self._store.write() as connection:
            # The newest code of a machine is the one that counts.
            hers = join_codes.c.machine_id == machine_id
            await connection.execute(delete(join_codes).where(hers))
            await connection.execute(insert(join_codes).values(row))
        shown = "-".join(code[at : at + _GROUP] for at in range(0, _CHARS, _GROUP))
        return Made(shown, machine_id, end)

    async def redeem(self, text: str, name: str | None, *, base_url: str) -> Joined:
        """Uses a code up, with the last step: whatever goes wrong before, it is as good as it was.
        Of several attempts at once, one succeeds."""
        is_it = join_codes.c.hash == digest(plain_code(text))
        row = await self._store.first(select(join_codes).where(is_it))
        if row is None:
            raise _unknown()
        if row.expires_at <= self._clock():
            raise Expired(
                "this join code has ended unused: codes work for"
                f" {limits.JOIN_CODE_LIFE_S / 60:g} minutes",
                code="JOIN_CODE_EXPIRED",
            )
        owner = await self._owner(row.user_id)
        try:
            scheduled = await self._vms.let_in(row.machine_id, base_url=base_url)
        except (Conflict, NotFound) as error:
            raise _unknown() from error  # it was given up meanwhile, and its code with it
        async with self._store.write() as connection:
            if not (await connection.execute(delete(join_codes).where(is_it))).rowcount:
                raise _unknown()
            secret = await self._secrets.issue_node(connection, row.machine_id)
        if row.names_itself and name:
            with contextlib.suppress(InvalidRequest):  # it is somebody else's, or cannot be shown
                await self._vms.rename(owner, row.machine_id, name)
        _log.info("a machine has joined", machine=row.machine_id, user=row.user_id)
        return Joined(owner, scheduled, secret)

    async def renew(self, secret: str, *, base_url: str) -> Joined:
        """A new token for a machine that joined before."""
        try:
            known = await self._secrets.by_node_secret(secret)
            scheduled = await self._vms.let_in(known.machine_id, base_url=base_url)
        except (Unauthorized, Conflict, NotFound) as error:
            raise Unauthorized(
                "this machine is not let in any more: its access was revoked, or it was given up"
            ) from error
        _log.info("vm token fetched", machine=known.machine_id, user=known.user_id)
        return Joined(await self._owner(known.user_id), scheduled, secret)

    async def tidy(self) -> list[Withdrawn]:
        """Machines that were made for a code which nobody has used go; so do old codes."""
        now = self._clock()
        query = (
            select(join_codes.c.machine_id, users.c.org_id, users.c.id)
            .join(machines, machines.c.id == join_codes.c.machine_id)
            .join(users, users.c.id == machines.c.user_id)
            .where(
                join_codes.c.expires_at <= now,
                join_codes.c.makes_machine,
                machines.c.state.in_(("pending", "failed")),
            )
        )
        gone = [Withdrawn(*row) for row in await self._store.all(query)]
        for one in gone:
            await self._vms.withdraw(one.machine_id, _UNUSED)
        old = join_codes.c.expires_at <= now - _KNOWN_MS
        await self._store.run(delete(join_codes).where(old))
        return gone

    async def _check_room(self, user_id: str) -> None:
        query = (
            select(func.count())
            .select_from(join_codes.join(machines, machines.c.id == join_codes.c.machine_id))
            .where(
                join_codes.c.user_id == user_id,
                join_codes.c.expires_at > self._clock(),
                machines.c.state != "terminated",
            )
        )
        if (await self._store.scalar(query) or 0) >= limits.JOIN_CODES_PER_USER_MAX:
            raise LimitReached(
                f"this user has {limits.JOIN_CODES_PER_USER_MAX} join codes that wait; give up a"
                " machine that will not come, or let them end"
            )

    async def _check_machine(self, user_id: str, machine_id: str) -> None:
        query = select(machines.c.kind, machines.c.provider, machines.c.state).where(
            machines.c.id == machine_id, machines.c.user_id == user_id
        )
        row = await self._store.first(query)
        if row is None:
            raise NotFound("machine", machine_id)
        if row.kind != "vm" or row.provider != "manual":
            raise InvalidRequest(
                "only an execution plane that is started elsewhere joins by a code"
            )
        if row.state == "terminated":
            raise Conflict("this machine was given up; add a new one", code="VM_NOT_ACTIVE")

    async def _owner(self, user_id: str) -> Principal:
        query = select(users.c.org_id, users.c.role).where(users.c.id == user_id)
        row = await self._store.first(query)
        if row is None:
            raise _unknown()
        return Principal(user_id, row.org_id, row.role)


def _unknown() -> Unauthorized:
    return Unauthorized(
        "this join code is not known, or was used already", code="JOIN_CODE_REFUSED"
    )
