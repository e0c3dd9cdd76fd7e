"""Lists with `limit` and `cursor`, and who may see which rows.

The cursor is the last id of a page; record ids grow with time, so pages run from new to old.
"""

from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Row, Select, and_, or_, true
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import InvalidRequest

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of the records, and where the next ones begin (null at the end)."""

    items: list[T]
    next_cursor: str | None = None


def checked_limit(limit: int | None) -> int:
    if limit is None:
        return limits.PAGE_DEFAULT
    if not 1 <= limit <= limits.PAGE_MAX:
        raise InvalidRequest(f"limit must be between 1 and {limits.PAGE_MAX}")
    return limit


async def fetch_page(
    connection: AsyncConnection,
    query: Select[Any],
    key: ColumnElement[str],
    limit: int | None,
    cursor: str | None,
) -> tuple[list[Row[Any]], bool]:
    """One page of a query, newest first, and whether there is more."""
    count = checked_limit(limit)
    if cursor is not None:
        if not cursor or len(cursor) > limits.NAME_CHARS_MAX or "\x00" in cursor:
            raise InvalidRequest("cursor is not one that a list returned")
        query = query.where(key < cursor)
    result = await connection.execute(query.order_by(key.desc()).limit(count + 1))
    rows = list(result.all())
    return rows[:count], len(rows) > count


def visible(
    principal: Principal,
    org_id: ColumnElement[str],
    user_id: ColumnElement[str],
    *,
    shared: bool = True,
) -> ColumnElement[bool]:
    """`Principal.may_see` as a condition. `shared`: members also see rows of the whole org."""
    if principal.is_admin:
        return true()
    own_org = org_id == principal.org_id
    if principal.role == "org_admin":
        return own_org
    mine: ColumnElement[bool] = user_id == principal.user_id
    return and_(own_org, or_(mine, user_id.is_(None)) if shared else mine)
