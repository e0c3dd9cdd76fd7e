"""What an AGP device named and is not its own: not taken, and audited if it is somebody else's."""

from collections import Counter

import structlog
from sqlalchemy import select

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.core import Core
from trunkline.control.errors import NotFound
from trunkline.control.machines.machine import Machine
from trunkline.control.store.schema import machine_secrets, machines, sessions, turns, users

_LOOKUPS_MAX = 32  # of a user's at once: whose is what a device named, and is not its own

_log = structlog.get_logger(__name__)

_WIRE = "agp"


class AgpRefusals:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._lookups: Counter[str] = Counter()
        """How many names are being looked up, by user."""

    def foreign(self, machine: Machine, kind: str, name: str) -> None:
        """A device that is let in named something."""
        self._core.metrics.malformed += 1
        _log.warning("not this device's", machine=machine.id, kind=kind, name=name[:64])
        if not _can_be(name):
            return
        if self._lookups[machine.user_id] < _LOOKUPS_MAX:
            self.named(machine.user_id, kind, name)
        else:
            # Too many to look at each: it is counted, so that none hides behind the others.
            who = Principal(machine.user_id, machine.org_id, "member")
            self._core.refusals.note(who, _WIRE, NotFound(kind, name))

    def named(self, user_id: str, kind: str, name: str) -> None:
        """A user, or who says to be that user, named something."""
        self._lookups[user_id] += 1
        self._core.tasks.spawn(self._note(user_id, kind, name), "agp refusal")

    async def _note(self, user_id: str, kind: str, name: str) -> None:
        try:
            owner = await self._owner(kind, name)
        finally:
            self._lookups[user_id] -= 1
            if not self._lookups[user_id]:
                del self._lookups[user_id]
        if owner in (None, user_id):
            return
        async with self._core.store.read() as connection:
            org_id = await connection.scalar(select(users.c.org_id).where(users.c.id == user_id))
        if org_id is not None:
            who = Principal(user_id, org_id, "member")
            self._core.refusals.note(who, _WIRE, NotFound(kind, name))

    async def _owner(self, kind: str, name: str) -> str | None:
        match kind:
            case "device":
                query = (
                    select(machines.c.user_id)
                    .join(machine_secrets, machine_secrets.c.machine_id == machines.c.id)
                    .where(machine_secrets.c.guid == name)
                )
            case "session":
                query = select(sessions.c.user_id).where(sessions.c.id == name)
            case "turn":
                await self._core.projection.settled()  # its record may be a moment behind its log
                query = (
                    select(sessions.c.user_id)
                    .join(turns, turns.c.session_id == sessions.c.id)
                    .where(turns.c.id == name)
                )
            case _:
                return name
        async with self._core.store.read() as connection:
            return await connection.scalar(query)


def _can_be(name: str) -> bool:
    """Whether it can be anybody's: no id and no `guid` is longer, or has other characters."""
    return 0 < len(name) <= limits.GUID_CHARS_MAX and name.isascii() and name.isprintable()
