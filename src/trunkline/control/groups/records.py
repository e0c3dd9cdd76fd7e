"""Groups as they are stored: a machine of kind `group`, and the persons in it, in their order."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import ColumnElement, and_, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest, LimitReached, NotFound
from trunkline.control.groups.persons import Person, PersonName, checked_name
from trunkline.control.ids import new_id
from trunkline.control.records.fields import Id
from trunkline.control.records.page import Page, Paging, columns, fetch_page, visible
from trunkline.control.records.users import Users
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

_machines, _users = schema.machines, schema.users
_members, _persons = schema.group_members, schema.persons

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


class GroupRecords:
    """The records of groups."""

    def __init__(
        self,
        store: Store,
        users: Users,
        clock: Clock,
        per_user_max: int = limits.GROUPS_PER_USER_MAX,
    ) -> None:
        self._store = store
        self._users = users
        self._clock = clock
        self._per_user_max = per_user_max

    async def create(self, who: Principal, new: NewGroup) -> Group:
        owner = await self._users.get_managed(who, new.user_id or who.user_id)
        group_id, name = new_id(), checked_name(new.name)
        async with self._store.write() as connection:
            await self._check_name(connection, owner.id, name)
            await self._check_room(connection, owner.id)
            await connection.execute(
                insert(_machines).values(
                    id=group_id,
                    user_id=owner.id,
                    kind="group",
                    name=name,
                    provider="local",
                    state="pending",
                    capabilities=[],
                    created_at=self._clock(),
                )
            )
            await _seat(connection, owner.id, group_id, new.person_ids)
        return await self.load(group_id)

    async def get(self, who: Principal, group_id: str) -> Group:
        query = _seen_by(who).where(_machines.c.id == group_id)
        async with self._store.read() as connection:
            row = (await connection.execute(query)).first()
            if row is None:
                raise NotFound("group", group_id)
            persons = await _persons_of(connection, [group_id])
        return _group(row, persons)

    async def managed(self, who: Principal, group_id: str) -> Group:
        """A group that whoever asks may change."""
        group = await self.get(who, group_id)
        await self._users.get_managed(who, group.user_id)
        return group

    async def load(self, group_id: str) -> Group:
        """For the coordinator, which is the group itself."""
        async with self._store.read() as connection:
            row = (
                await connection.execute(select(_machines).where(_machines.c.id == group_id))
            ).first()
            if row is None:
                raise NotFound("group", group_id)
            persons = await _persons_of(connection, [group_id])
        return _group(row, persons)

    async def page(self, who: Principal, paging: Paging) -> Page[Group]:
        async with self._store.read() as connection:
            rows, more = await fetch_page(
                connection, _seen_by(who), _machines.c.id, paging.limit, paging.cursor
            )
            persons = await _persons_of(connection, [row.id for row in rows])
        return Page([_group(row, persons) for row in rows], rows[-1].id if more else None)

    async def all_ids(self) -> list[str]:
        """Every group that was not given up."""
        query = select(_machines.c.id).where(
            _machines.c.kind == "group", _machines.c.state != "terminated"
        )
        async with self._store.read() as connection:
            return list(await connection.scalars(query))

    async def change(self, who: Principal, group_id: str, patch: GroupPatch) -> Group:
        group = await self.managed(who, group_id)
        async with self._store.write() as connection:
            if patch.name is not UNSET and (name := checked_name(patch.name)) != group.name:
                await self._check_name(connection, group.user_id, name)
                await connection.execute(
                    update(_machines).where(_machines.c.id == group_id).values(name=name)
                )
            if patch.person_ids is not UNSET:
                await connection.execute(delete(_members).where(_members.c.group_id == group_id))
                await _seat(connection, group.user_id, group_id, patch.person_ids)
        return await self.load(group_id)

    async def _check_name(self, connection: AsyncConnection, user_id: str, name: str) -> None:
        # The lock on the user's row puts two of the same name into an order.
        await connection.execute(
            select(_users.c.id).where(_users.c.id == user_id).with_for_update()
        )
        taken = select(_machines.c.id).where(_own(user_id), _machines.c.name == name)
        if await connection.scalar(taken):
            raise Conflict(f"{name!r} is taken", code="NAME_TAKEN")

    async def _check_room(self, connection: AsyncConnection, user_id: str) -> None:
        query = select(func.count()).select_from(_machines).where(_own(user_id))
        count = await connection.scalar(query)
        if (count or 0) >= self._per_user_max:
            raise LimitReached("this user has too many groups; remove one first")


def _own(user_id: str) -> ColumnElement[bool]:
    return and_(
        _machines.c.user_id == user_id,
        _machines.c.kind == "group",
        _machines.c.state != "terminated",
    )


async def _seat(
    connection: AsyncConnection, user_id: str, group_id: str, person_ids: Sequence[str]
) -> None:
    if len(set(person_ids)) != len(person_ids):
        raise InvalidRequest("a person is named twice")
    own = select(_persons.c.id).where(_persons.c.user_id == user_id, _persons.c.id.in_(person_ids))
    known = set(await connection.scalars(own))
    for position, person_id in enumerate(person_ids):
        if person_id not in known:
            raise NotFound("person", person_id)
        await connection.execute(
            insert(_members).values(group_id=group_id, person_id=person_id, position=position)
        )


async def _persons_of(
    connection: AsyncConnection, group_ids: Sequence[str]
) -> dict[str, list[Person]]:
    query = (
        select(_members.c.group_id, *columns(_persons, Person))
        .join(_persons, _persons.c.id == _members.c.person_id)
        .where(_members.c.group_id.in_(group_ids))
        .order_by(_members.c.position)
    )
    found: dict[str, list[Person]] = {}
    for row in (await connection.execute(query)).mappings():
        values = {name: row[name] for name in Person.__struct_fields__}
        found.setdefault(row["group_id"], []).append(Person(**values))
    return found


def _group(row: Any, persons: dict[str, list[Person]]) -> Group:
    return Group(
        id=row.id,
        user_id=row.user_id,
        name=row.name,
        persons=persons.get(row.id, []),
        created_at=row.created_at,
    )


def _seen_by(who: Principal) -> Any:
    return (
        select(_machines)
        .join(_users, _users.c.id == _machines.c.user_id)
        .where(
            _machines.c.kind == "group",
            _machines.c.state != "terminated",
            visible(who, _users.c.org_id, _users.c.id, shared=False),
        )
    )
