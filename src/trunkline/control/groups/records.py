"""Groups as they are stored: a machine of kind `group`, and the persons in it, in their order."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import and_, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest, LimitReached, NotFound
from trunkline.control.groups.persons import Person, PersonName, checked_name, lock_names
from trunkline.control.ids import new_id
from trunkline.control.records.fields import Id
from trunkline.control.records.page import Page, Paging, Rows
from trunkline.control.records.people import Users
from trunkline.control.store import schema
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store

_machines, _members, _persons = schema.machines, schema.group_members, schema.persons
_IS_GROUP = and_(_machines.c.kind == "group", _machines.c.state != "terminated")

PersonIds = Annotated[list[Id], Meta(max_length=limits.GROUP_PERSONS_MAX)]


class Group(msgspec.Struct, kw_only=True):
    """Its `id` is a machine's: `POST /sessions` with it as `machine_id` starts a conversation."""

    id: str
    user_id: str
    name: str
    persons: list[Person]
    created_at: int


class NewGroup(msgspec.Struct, kw_only=True):
    """`user_id`: only for who may act for that user."""

    name: PersonName
    person_ids: PersonIds = []
    user_id: Id | None = None


class GroupPatch(msgspec.Struct, kw_only=True):
    """What is left out stays as it is."""

    name: PersonName | UnsetType = UNSET
    person_ids: PersonIds | UnsetType = UNSET


class _Stored(msgspec.Struct, kw_only=True):
    """A group without its persons."""

    id: str
    user_id: str
    name: str
    created_at: int


class GroupRecords(Rows[_Stored]):
    """The records of groups."""

    def __init__(
        self,
        store: Store,
        users: Users,
        clock: Clock,
        per_user_max: int = limits.GROUPS_PER_USER_MAX,
    ) -> None:
        super().__init__(store, _machines, _Stored, "group")
        self._users = users
        self._clock = clock
        self._per_user_max = per_user_max

    async def create(self, who: Principal, new: NewGroup) -> Group:
        owner = await self._users.get_managed(who, new.user_id or who.user_id)
        name = checked_name(new.name)
        stored = _Stored(id=new_id(), user_id=owner.id, name=name, created_at=self._clock())
        about = {"kind": "group", "provider": "local", "state": "pending", "capabilities": []}
        async with self._store.write() as connection:
            await self._check_name(connection, owner.id, name)
            await self._check_room(connection, owner.id)
            await connection.execute(self._insert(stored, **about))
            await _seat(connection, owner.id, stored.id, new.person_ids)
        return await self.load(stored.id)

    async def get(self, who: Principal, group_id: str) -> Group:
        found = await self._find(_machines.c.id == group_id, _IS_GROUP, self._seen_by(who))
        return await self._whole(found, group_id)

    async def load(self, group_id: str) -> Group:
        """For the coordinator, which is the group itself."""
        return await self._whole(await self._find(_machines.c.id == group_id), group_id)

    async def page(self, who: Principal, paging: Paging) -> Page[Group]:
        page = await self._page(paging, _IS_GROUP, self._seen_by(who))
        return Page(await self._with_persons(page.items), page.next_cursor)

    async def managed(self, who: Principal, group_id: str) -> Group:
        """A group that whoever asks may change."""
        group = await self.get(who, group_id)
        await self._users.get_managed(who, group.user_id)
        return group

    async def all_ids(self) -> Sequence[str]:
        """Every group that was not given up."""
        return await self._store.scalars(select(_machines.c.id).where(_IS_GROUP))

    async def change(self, who: Principal, group_id: str, patch: GroupPatch) -> Group:
        group = await self.managed(who, group_id)
        async with self._store.write() as connection:
            if patch.name is not UNSET and (name := checked_name(patch.name)) != group.name:
                await self._check_name(connection, group.user_id, name)
                await connection.execute(self._update(group_id, {"name": name}))
            if patch.person_ids is not UNSET:
                await connection.execute(delete(_members).where(_members.c.group_id == group_id))
                await _seat(connection, group.user_id, group_id, patch.person_ids)
        return await self.load(group_id)

    async def _check_name(self, connection: AsyncConnection, user_id: str, name: str) -> None:
        await lock_names(connection, user_id)
        own = and_(_IS_GROUP, _machines.c.user_id == user_id)
        if await connection.scalar(select(_machines.c.id).where(own, _machines.c.name == name)):
            raise Conflict(f"{name!r} is taken", code="NAME_TAKEN")

    async def _check_room(self, connection: AsyncConnection, user_id: str) -> None:
        query = select(func.count()).where(_IS_GROUP, _machines.c.user_id == user_id)
        if (await connection.scalar(query) or 0) >= self._per_user_max:
            raise LimitReached("this user has too many groups; remove one first")

    async def _whole(self, stored: _Stored | None, group_id: str) -> Group:
        if stored is None:
            raise NotFound("group", group_id)
        (group,) = await self._with_persons([stored])
        return group

    async def _with_persons(self, stored: Sequence[_Stored]) -> list[Group]:
        query = (
            select(_members.c.group_id, _persons)
            .join(_persons, _persons.c.id == _members.c.person_id)
            .where(among(_members.c.group_id, [one.id for one in stored]))
            .order_by(_members.c.position)
        )
        persons: dict[str, list[Person]] = {one.id: [] for one in stored}
        for row in await self._store.all(query):
            persons[row.group_id].append(msgspec.convert(row, Person, from_attributes=True))
        return [Group(persons=persons[one.id], **msgspec.structs.asdict(one)) for one in stored]


async def _seat(
    connection: AsyncConnection, user_id: str, group_id: str, person_ids: Sequence[str]
) -> None:
    if len(set(person_ids)) != len(person_ids):
        raise InvalidRequest("a person is named twice")
    own = select(_persons.c.id).where(
        _persons.c.user_id == user_id, among(_persons.c.id, person_ids)
    )
    known = set(await connection.scalars(own))
    for position, person_id in enumerate(person_ids):
        if person_id not in known:
            raise NotFound("person", person_id)
        await connection.execute(
            insert(_members).values(group_id=group_id, person_id=person_id, position=position)
        )
