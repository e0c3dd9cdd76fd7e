"""Records as rows of tables: one, a page of them, added, changed, removed.

`Rows` is the base of every kind of record. A page runs from new to old: ids grow with time, and
the last id of a page is the cursor of the next.
"""

from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Meta
from sqlalchemy import (
    ColumnElement,
    Insert,
    Select,
    Table,
    Update,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import InvalidRequest, LimitReached, NotFound
from trunkline.control.records.fields import checked_id
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import users

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

Limit = Annotated[
    int, Meta(ge=1, le=limits.PAGE_MAX, description="How many items a page holds at most.")
]
Cursor = Annotated[
    str,
    Meta(
        max_length=limits.ID_CHARS_MAX,
        description="`next_cursor` of the page before; without it, the first page.",
    ),
]


class Paging(msgspec.Struct, kw_only=True):
    """The query of every list."""

    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of the records, and where the next ones begin (null at the end)."""

    items: list[T]
    next_cursor: str | None = None


class Rows(Generic[S]):
    """The rows of one table as structs.

    `noun` names one of them in errors. `org_id` and `user_id` are the columns that say whose a row
    is, by default the table's own, and else the org of its user; without any `user_id`, everyone of
    the org sees it. `shared`: rows without a user belong to the whole org.
    """

    def __init__(
        self,
        store: Store,
        table: Table,
        kind: type[S],
        noun: str,
        *,
        org_id: ColumnElement[str] | None = None,
        user_id: ColumnElement[str] | None = None,
        shared: bool = False,
    ) -> None:
        self._store = store
        self._table = table
        self._kind = kind
        self._noun = noun
        self._user_id = table.c.get("user_id") if user_id is None else user_id
        self._shared = shared
        names = {"id", *kind.__struct_fields__}
        self._query = select(*(column for column in table.c if column.name in names))
        self._org_id = table.c.get("org_id") if org_id is None else org_id
        if self._org_id is None:
            self._org_id = users.c.org_id
            self._query = self._query.join(users, users.c.id == table.c.user_id)
            if "org_id" in names:
                self._query = self._query.add_columns(users.c.org_id)

    async def _seen(self, who: Principal, row_id: str) -> S:
        """The row, if that person may see it."""
        checked_id(self._noun, row_id)
        found = await self._find(self._table.c.id == row_id, self._seen_by(who))
        if found is None:
            raise NotFound(self._noun, row_id)
        return found

    def _seen_by(self, who: Principal) -> ColumnElement[bool]:
        assert self._org_id is not None
        if self._user_id is None:
            return visible_org(who, self._org_id)
        return visible(who, self._org_id, self._user_id, shared=self._shared)

    async def _find(self, *where: ColumnElement[bool]) -> S | None:
        return await self._first(self._query.where(*where))

    async def _first(self, query: Select[Any]) -> S | None:
        row = await self._store.first(query)
        return None if row is None else msgspec.convert(row, self._kind, from_attributes=True)

    async def _page(self, paging: Paging, *where: ColumnElement[bool]) -> Page[S]:
        limit, cursor, key = paging.limit, paging.cursor, self._table.c.id
        if not 1 <= limit <= limits.PAGE_MAX:
            raise InvalidRequest(f"limit must be between 1 and {limits.PAGE_MAX}")
        query = self._query.where(*where)
        if cursor is not None:
            if not cursor or len(cursor) > limits.NAME_CHARS_MAX or "\x00" in cursor:
                raise InvalidRequest("cursor is not one that a list returned")
            query = query.where(key < cursor)
        rows = await self._store.all(query.order_by(key.desc()).limit(limit + 1))
        items = [msgspec.convert(row, self._kind, from_attributes=True) for row in rows[:limit]]
        return Page(items, rows[limit - 1].id if len(rows) > limit else None)

    async def _check_count(self, count_max: int, *where: ColumnElement[bool]) -> None:
        """For one more of these rows."""
        count = await self._store.scalar(
            select(func.count()).select_from(self._table).where(*where)
        )
        if (count or 0) >= count_max:
            raise LimitReached(
                f"no room for another {self._noun}: at most {count_max:,}; remove some first"
            )

    def _insert(self, record: S, **hidden: Any) -> Insert:
        """`hidden`: columns that the struct does not show."""
        return insert(self._table).values({**msgspec.to_builtins(record), **hidden})

    async def _add(self, record: S, **hidden: Any) -> S:
        await self._store.run(self._insert(record, **hidden))
        return record

    def _update(self, row_id: str, values: dict[str, Any]) -> Update:
        return update(self._table).where(self._table.c.id == row_id).values(values)

    async def _change(self, row_id: str, values: dict[str, Any]) -> None:
        if values:
            await self._store.run(self._update(row_id, values))

    async def _remove(self, row_id: str) -> None:
        await self._store.run(delete(self._table).where(self._table.c.id == row_id))


class SeenRows(Rows[S]):
    """Rows that are read with a person's rights."""

    async def get(self, who: Principal, row_id: str) -> S:
        """The row, if that person may see it."""
        return await self._seen(who, row_id)

    async def page(self, who: Principal, paging: Paging) -> Page[S]:
        """Those that the person may see."""
        return await self._page(paging, self._seen_by(who))

    async def _owned(self, who: Principal, row_id: str) -> S:
        """The row, to change or to remove: members their own, an administrator the org's."""
        row = await self._seen(who, row_id)
        if getattr(row, "user_id", None) != who.user_id:
            who.require_org_admin()
        return row

    async def _remove_owned(self, who: Principal, row_id: str) -> None:
        await self._owned(who, row_id)
        await self._remove(row_id)


def changes(patch: msgspec.Struct) -> dict[str, Any]:
    """The columns that a patch names: null clears a value, absence leaves it."""
    values = {name: getattr(patch, name) for name in patch.__struct_fields__}
    return {name: value for name, value in values.items() if value is not UNSET}


def visible(
    who: Principal,
    org_id: ColumnElement[str],
    user_id: ColumnElement[str],
    *,
    shared: bool = True,
) -> ColumnElement[bool]:
    """`Principal.may_see` as a condition. `shared`: members also see rows of the whole org."""
    if who.is_admin:
        return true()
    own_org = org_id == who.org_id
    if who.role == "org_admin":
        return own_org
    mine: ColumnElement[bool] = user_id == who.user_id
    return and_(own_org, or_(mine, user_id.is_(None)) if shared else mine)


def visible_org(who: Principal, org_id: ColumnElement[str]) -> ColumnElement[bool]:
    """What belongs to an organisation is seen by everyone in it."""
    return true() if who.is_admin else org_id == who.org_id
