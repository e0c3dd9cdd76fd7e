"""Reading records: one, a page of them, and what a patch changes.

Pages and visibility are those of `services.paging`; this adds the turning of rows into structs.
"""

from typing import Annotated, Any, TypeVar

import msgspec
from sqlalchemy import Column, ColumnElement, Row, Select, Table, true

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.services.paging import Page, fetch_page, visible
from trunkline.control.store.engine import Store

__all__ = [
    "Page",
    "Paging",
    "changes",
    "columns",
    "read_one",
    "read_page",
    "visible",
    "visible_org",
]

S = TypeVar("S", bound=msgspec.Struct)

Limit = Annotated[
    int,
    msgspec.Meta(ge=1, le=limits.PAGE_MAX, description="How many items a page holds at most."),
]
Cursor = Annotated[
    str,
    msgspec.Meta(
        max_length=limits.ID_CHARS_MAX,
        description="`next_cursor` of the page before; without it, the first page.",
    ),
]


class Paging(msgspec.Struct, kw_only=True):
    """The query of every list."""

    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


def visible_org(who: Principal, org_id: ColumnElement[str]) -> ColumnElement[bool]:
    """An organisation is seen by everyone in it."""
    return true() if who.is_admin else org_id == who.org_id


async def read_page(
    store: Store, query: Select[Any], key: ColumnElement[str], paging: Paging, kind: type[S]
) -> Page[S]:
    """One page of a query that selects the column `id`, newest first."""
    async with store.read() as connection:
        rows, more = await fetch_page(connection, query, key, paging.limit, paging.cursor)
    return Page([_struct(row, kind) for row in rows], rows[-1].id if more else None)


async def read_one(store: Store, query: Select[Any], kind: type[S]) -> S | None:
    async with store.read() as connection:
        row = (await connection.execute(query)).first()
    return None if row is None else _struct(row, kind)


def columns(table: Table, kind: type[msgspec.Struct]) -> list[Column[Any]]:
    """The columns of that table which the struct shows."""
    return [table.c[name] for name in kind.__struct_fields__ if name in table.c]


def _struct(row: Row[Any], kind: type[S]) -> S:
    return kind(**{name: getattr(row, name) for name in kind.__struct_fields__})


def changes(patch: msgspec.Struct) -> dict[str, Any]:
    """The columns that a patch names: null clears a value, absence leaves it."""
    values = {name: getattr(patch, name) for name in patch.__struct_fields__}
    return {name: value for name, value in values.items() if value is not msgspec.UNSET}
