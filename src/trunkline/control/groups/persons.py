"""Persons: names that answer in groups, each with a prompt, a model and a machine of its own.

Records only; what a person is asked is the coordinator's work.
"""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest, LimitReached, NotFound
from trunkline.control.groups.mentions import RESERVED, is_name, normal
from trunkline.control.ids import new_id
from trunkline.control.machines.traits import SINGLE
from trunkline.control.records.fields import Confirm, Id, Name, RuntimeType, Text
from trunkline.control.records.page import SeenRows, changes
from trunkline.control.records.people import Users
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

_persons, _users = schema.persons, schema.users

PersonName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.GROUP_NAME_CHARS_MAX,
        description="Letters, digits, `_` and `-` of any script.",
    ),
]


class Person(msgspec.Struct, kw_only=True):
    """`machine_id` of null: one that is online is picked when the person is first needed."""

    id: str
    user_id: str
    name: str
    prompt: str
    model: str | None
    machine_id: str | None
    runtime_type: RuntimeType | None
    confirm: Confirm
    created_at: int


class NewPerson(msgspec.Struct, kw_only=True):
    """`confirm`: which tools ask first. `user_id`: only for who may act for that user."""

    name: PersonName
    user_id: Id | None = None
    prompt: Text = ""
    model: Name | None = None
    machine_id: Id | None = None
    runtime_type: RuntimeType | None = None
    confirm: Confirm = "dangerous"


class PersonPatch(msgspec.Struct, kw_only=True):
    """What is left out stays as it is; null clears a value."""

    name: PersonName | UnsetType = UNSET
    prompt: Text | UnsetType = UNSET
    model: Name | UnsetType | None = UNSET
    machine_id: Id | UnsetType | None = UNSET
    runtime_type: RuntimeType | UnsetType | None = UNSET
    confirm: Confirm | UnsetType = UNSET


class Persons(SeenRows[Person]):
    """The records of persons."""

    def __init__(
        self,
        store: Store,
        users: Users,
        clock: Clock,
        per_user_max: int = limits.PERSONS_PER_USER_MAX,
    ) -> None:
        super().__init__(store, _persons, Person, "person")
        self._users = users
        self._clock = clock
        self._per_user_max = per_user_max

    async def create(self, who: Principal, new: NewPerson) -> Person:
        owner = await self._users.get_managed(who, new.user_id or who.user_id)
        values = msgspec.structs.asdict(new) | {
            "user_id": owner.id,
            "name": checked_name(new.name),
            "machine_id": await self._machine(owner.id, new.machine_id),
        }
        person = Person(id=new_id(), created_at=self._clock(), **values)
        async with self._store.write() as connection:
            others = await _names(connection, owner.id)
            if len(others) >= self._per_user_max:
                raise LimitReached("this user has too many persons; remove one first")
            _check_free(person.name, others.values())
            await connection.execute(self._insert(person))
        return person

    async def change(self, who: Principal, person_id: str, patch: PersonPatch) -> Person:
        person = await self.managed(who, person_id)
        values = changes(patch)
        if "name" in values:
            values["name"] = checked_name(values["name"])
        if "machine_id" in values:
            values["machine_id"] = await self._machine(person.user_id, values["machine_id"])
        if values:
            async with self._store.write() as connection:
                if "name" in values:
                    others = await _names(connection, person.user_id)
                    others.pop(person_id, None)
                    _check_free(values["name"], others.values())
                await connection.execute(self._update(person_id, values))
        return await self.get(who, person_id)

    async def managed(self, who: Principal, person_id: str) -> Person:
        """A person that whoever asks may change."""
        person = await self.get(who, person_id)
        await self._users.get_managed(who, person.user_id)
        return person

    async def remove(self, person_id: str) -> None:
        await self._remove(person_id)

    async def _machine(self, user_id: str, name: str | None) -> str | None:
        """The id of that user's machine; a device may also be named by its `guid`."""
        if name is None:
            return None
        machines, secrets = schema.machines, schema.machine_secrets
        query = (
            select(machines.c.id, machines.c.kind)
            .outerjoin(secrets, secrets.c.machine_id == machines.c.id)
            .where(
                machines.c.user_id == user_id,
                (machines.c.id == name) | (secrets.c.guid == name),
                machines.c.state != "terminated",
            )
        )
        row = await self._store.first(query)
        if row is None:
            raise NotFound("machine", name)
        if row.kind not in SINGLE:
            raise InvalidRequest("a person cannot live on a group")
        return str(row.id)


def checked_name(name: str) -> str:
    """A name that can be mentioned."""
    name = normal(name)
    if not is_name(name):
        raise InvalidRequest(
            "a name has letters, digits, _ and - only, "
            f"and at most {limits.GROUP_NAME_CHARS_MAX} of them"
        )
    if name.casefold() in RESERVED:
        raise InvalidRequest(f"nobody can be called {name!r}: it means somebody already")
    return name


async def lock_names(connection: AsyncConnection, user_id: str) -> None:
    """The lock on the user's row puts two of the same name into an order."""
    await connection.execute(select(_users.c.id).where(_users.c.id == user_id).with_for_update())


async def _names(connection: AsyncConnection, user_id: str) -> dict[str, str]:
    """The user's persons."""
    await lock_names(connection, user_id)
    rows = await connection.execute(
        select(_persons.c.id, _persons.c.name).where(_persons.c.user_id == user_id)
    )
    return {row.id: row.name for row in rows}


def _check_free(name: str, others: Iterable[str]) -> None:
    """Whoever is mentioned is found in any case: no two names may differ in that alone."""
    for other in others:
        if other.casefold() == name.casefold():
            raise Conflict(f"{other!r} is taken", code="NAME_TAKEN")
