"""What is kept of logs: an organisation's bounds, and tighter ones of single sessions."""

from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy import Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.errors import InvalidRequest
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

_DAYS_MAX = 36_500
_BYTES_MIN = 64 * 1024  # events are kept together in pieces of about that size
_BYTES_MAX = 2**50

_orgs, _sessions = schema.org_retention, schema.session_retention

Days = Annotated[int, Meta(ge=1, le=_DAYS_MAX)]
Size = Annotated[int, Meta(ge=_BYTES_MIN, le=_BYTES_MAX)]


class Retention(msgspec.Struct, kw_only=True, frozen=True):
    """How long, and how much of each session; null: without a bound."""

    days: Days | None = None
    size_bytes: Size | None = None

    def within(self, other: "Retention") -> "Retention":
        """Both at once: of two bounds the tighter one."""
        return Retention(
            days=_tighter(self.days, other.days),
            size_bytes=_tighter(self.size_bytes, other.size_bytes),
        )


class SessionRetention(msgspec.Struct, kw_only=True):
    """`own`: the session's bounds; `org`: those of its organisation; `effective`: what holds.
    `first_event_id`: the oldest event that is kept; `stored_bytes`: what the log takes."""

    own: Retention
    org: Retention
    effective: Retention
    first_event_id: int
    stored_bytes: int


def _tighter(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


class RetentionPolicy:
    """The records of it. Who may change them is asked before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of_org(self, org_id: str) -> Retention:
        async with self._store.read() as connection:
            return await _read(connection, _orgs, org_id)

    async def of_session(self, org_id: str, session_id: str) -> tuple[Retention, Retention]:
        """Its own, and that of its organisation."""
        async with self._store.read() as connection:
            own = await _read(connection, _sessions, session_id)
            return own, await _read(connection, _orgs, org_id)

    async def set_org(self, org_id: str, wanted: Retention) -> None:
        async with self._store.write() as connection:
            await _write(connection, _orgs, org_id, wanted)

    async def set_session(self, org_id: str, session_id: str, wanted: Retention) -> None:
        """InvalidRequest for more than its organisation keeps."""
        async with self._store.write() as connection:
            org = await _read(connection, _orgs, org_id)
            _check(wanted.days, org.days, "days")
            _check(wanted.size_bytes, org.size_bytes, "bytes of a session")
            await _write(connection, _sessions, session_id, wanted)


async def _read(connection: AsyncConnection, table: Table, name: str) -> Retention:
    (key,) = table.primary_key
    query = select(table.c.days, table.c.size_bytes).where(key == name)
    row = (await connection.execute(query)).first()
    return Retention() if row is None else Retention(days=row.days, size_bytes=row.size_bytes)


async def _write(connection: AsyncConnection, table: Table, name: str, wanted: Retention) -> None:
    (key,) = table.primary_key
    await connection.execute(delete(table).where(key == name))
    if wanted != Retention():
        values = msgspec.structs.asdict(wanted)
        await connection.execute(insert(table).values({key.name: name, **values}))


def _check(wanted: int | None, most: int | None, what: str) -> None:
    if wanted is not None and most is not None and wanted > most:
        raise InvalidRequest(
            f"this organisation keeps {most} {what} at most", code="RETENTION_LIMIT"
        )
