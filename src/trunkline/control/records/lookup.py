"""Records by what people call them: an id, its beginning, a name, a title, or how that begins.

For the command line and its completion. Every query is bounded, sees what its caller may see, and
goes by an index: ids by the range that a beginning stands for, names among their owner's rows.
"""

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from sqlalchemy import ColumnElement, func, or_, select, true

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.records.lookup_sources import DETAIL_CHARS_MAX, SOURCES, Kind, Source
from trunkline.control.store.engine import AnyRow, Store

_SHAPE = (8, 4, 4, 4, 12)  # of a UUID
_NAMED_ALIKE_MAX = 1000

Match = Literal["id", "name", "id_prefix", "name_prefix"]


class LookupQuery(msgspec.Struct, kw_only=True):
    q: Annotated[
        str,
        Meta(max_length=limits.NAME_CHARS_MAX, description="Without it, the newest are listed."),
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=50, description="How many at most.")] = 10


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A record that fits. `id`: what other routes take; of a skill that was found by its name, its
    `skill_id`. `name`: empty where such records have none. `match`: what of it fits; `own`: it is
    yours, or nobody's alone; `at`: when it was last active, or made (Unix ms)."""

    id: str
    name: str
    detail: str
    match: Match
    own: bool
    at: int


class FoundRecords(msgspec.Struct, frozen=True):
    """The best first: the exact id, exact names, then ids and names that begin like it."""

    items: list[Found]


class Lookup:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(self, who: Principal, kind: Kind, query: LookupQuery) -> FoundRecords:
        source, q, limit = SOURCES[kind], query.q.strip(), query.limit
        bounds, found = id_bounds(q), dict[str, Found]()

        async def take(match: Match, *fits: ColumnElement[bool]) -> None:
            if len(found) < limit:
                wanted = source.rows.where(*fits, source.seen(who))
                ordered = wanted.order_by(source.at.desc(), source.id).limit(limit)
                for row in await self._store.all(ordered):
                    one = _found(who, source, row, match)
                    found.setdefault(one.id, one)

        if bounds is not None and bounds[0] == bounds[1]:
            await take("id", source.id == bounds[0])
            if found:
                return FoundRecords(list(found.values()))
        written = [(name, way) for name in source.names for way in ways(q)]

        def named(*fits: ColumnElement[bool]) -> ColumnElement[bool]:
            """Of many rows, the index of names alone is read, and then those that fit."""
            if not source.is_large:
                return or_(*fits)
            some = select(source.id).where(or_(*fits), source.seen(who)).limit(_NAMED_ALIKE_MAX)
            return source.id.in_(some)

        if q and written:
            same = (func.lower(name) == func.lower(way) for name, way in written)
            await take("name", named(*same), source.listed)
        if bounds is not None:
            listed = source.listed if source.handle is None else true()
            await take("id_prefix", source.id.between(*bounds), listed)
        if q and written:
            begins = (name.istartswith(way, autoescape=True) for name, way in written)
            await take("name_prefix", named(*begins), source.listed)
        if not q:
            await take("name_prefix", true(), source.listed)
        return FoundRecords(list(found.values())[:limit])


def id_bounds(text: str) -> tuple[str, str] | None:
    """The first and the last id that begin so; None for what no id begins with, or too short."""
    plain = text.lower()
    digits = plain.replace("-", "")
    if not re.fullmatch(r"[0-9a-f]{4,32}", digits):
        return None
    if "-" in plain and not _shaped(digits).startswith(plain.rstrip("-")):
        return None
    return _shaped(digits.ljust(32, "0")), _shaped(digits.ljust(32, "f"))


def _shaped(digits: str) -> str:
    parts, at = [], 0
    for length in _SHAPE:
        parts.append(digits[at : at + length])
        at += length
    return "-".join(filter(None, parts))


def ways(text: str) -> list[str]:
    """How it may be written: SQLite knows capitals of ASCII letters alone."""
    if text.isascii():
        return [text.lower()]
    written = (text, text.lower(), text.upper(), text.capitalize(), text.title())
    return list(dict.fromkeys(written))


def _found(
    who: Principal,
    source: Source,
    row: AnyRow,
    match: Match,
) -> Found:
    handle = row.id
    if source.handle is not None and match.startswith("name"):
        handle = row.handle
    detail = " ".join(source.detail(row).split())[:DETAIL_CHARS_MAX]
    is_own = row.owner is None or row.owner == who.user_id
    return Found(
        id=handle, name=row.name or "", detail=detail, match=match, own=is_own, at=row.at or 0
    )
