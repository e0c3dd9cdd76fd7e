"""The audit log: a chain (`audit_chain`) in which every entry carries the hash of the one before.

Entries are added and read, never changed. `verify` names the first place where the chain is broken:
an edited, removed or moved entry and, by the sealed head, a cut-off end or a chain computed anew by
someone who has the database but not the control plane's key. By the heads that were noted outside
(`audit_heads`) it also sees an old state that was put back, or an empty one. A log whose key is
lost takes no entries until an administrator begins a new chain behind it (`restart`).
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Literal

import msgspec
import structlog
from sqlalchemy import ColumnElement, Row, func, insert, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, InvalidRequest, Unavailable
from trunkline.control.records.fields import checked_text
from trunkline.control.records.page import Page, Paging, visible
from trunkline.control.services.audit_chain import (
    GENESIS,
    RESTARTED,
    Verification,
    Walk,
    canonical,
    hash_of,
)
from trunkline.control.services.audit_heads import AuditHeads, Head
from trunkline.control.services.idempotency import Once, always
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import audit, audit_head

DETAILS_BYTES_MAX = 64 * 1024
HEAD_CONTEXT = "audit:head"

_log = structlog.get_logger(__name__)

Source = Literal["control", "machine"]
"""Whose word an entry is: the control plane's own, or what a machine has reported."""


class AuditEntry(msgspec.Struct, frozen=True):
    """`source` is null in entries that were written before it was kept."""

    seq: int
    at: int
    org_id: str | None
    user_id: str | None
    session_id: str | None
    source: Source | None
    event: str
    details: dict[str, Any]
    prev_hash: str
    hash: str


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries are wanted: `since <= at < until`, `event` begins so, `text` is in it."""

    user_id: str | None = None
    session_id: str | None = None
    source: Source | None = None
    event: str | None = None
    since: int | None = None
    until: int | None = None
    text: str | None = None

    @property
    def conditions(self) -> Iterator[ColumnElement[bool]]:
        for column, value in (
            (audit.c.user_id, self.user_id),
            (audit.c.session_id, self.session_id),
            (audit.c.source, self.source),
        ):
            if value is not None:
                yield column == value
        if self.event is not None:
            yield audit.c.event.startswith(self.event, autoescape=True)
        if self.since is not None:
            yield audit.c.at >= self.since
        if self.until is not None:
            yield audit.c.at < self.until
        if self.text is not None:
            texts = (audit.c.event, audit.c.details)
            yield or_(*(one.icontains(self.text, autoescape=True) for one in texts))


_EVERYTHING = AuditFilter()


class AuditHead(msgspec.Struct, frozen=True):
    """The newest entry, to be noted elsewhere; `at` (Unix ms) is null while there is none."""

    seq: int
    hash: str
    at: int | None


class Audit:
    """`heads`: where heads are noted outside of the database. `chunk_rows`: how many entries are
    verified at a time."""

    def __init__(
        self,
        store: Store,
        keys: Keys,
        clock: Clock,
        heads: AuditHeads | None = None,
        *,
        chunk_rows: int = 1_000,
    ) -> None:
        self._store = store
        self._heads = heads
        self._chunk_rows = chunk_rows
        self._keys = keys
        self._clock = clock
        self.is_broken = False
        """Whether the head was not ours when it was last looked at: then nothing is added."""

    async def append(
        self,
        event: str,
        details: dict[str, Any] | None = None,
        *,
        org_id: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        source: Source = "control",
        once: Once = always,
    ) -> int:
        """Adds an entry and returns its number."""
        async with self._store.write() as connection:
            await once(connection)
            return await self.append_to(
                connection,
                event,
                details,
                org_id=org_id,
                user_id=user_id,
                session_id=session_id,
                source=source,
            )

    async def append_to(
        self,
        connection: AsyncConnection,
        event: str,
        details: dict[str, Any] | None = None,
        *,
        org_id: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        source: Source = "control",
    ) -> int:
        """The same as part of a transaction: with what it speaks of, or not at all."""
        fields = self._fields(event, details or {}, org_id, user_id, session_id, source)
        # This row's lock is what puts appends, of any number of control planes, in one order.
        taken = update(audit_head).where(audit_head.c.id == 1).values(seq=audit_head.c.seq + 1)
        head = (
            await connection.execute(taken.returning(audit_head.c.seq, audit_head.c.sealed))
        ).first()
        last = self._open(head.sealed) if head is not None else None
        self.is_broken = last is None
        if last is None:
            raise _tampered_with()  # a new sealed head would hide what was done to the log
        return (await self._add(connection, last, fields)).seq

    def _fields(
        self,
        event: str,
        details: dict[str, Any],
        org_id: str | None,
        user_id: str | None,
        session_id: str | None = None,
        source: Source = "control",
    ) -> dict[str, Any]:
        return {
            "at": self._clock(),
            "org_id": org_id,
            "user_id": user_id,
            "session_id": session_id,
            "source": source,
            "event": checked_text(event, "event", limits.NAME_CHARS_MAX),
            "details": canonical(details, "details", DETAILS_BYTES_MAX),
        }

    async def _add(self, connection: AsyncConnection, last: Head, fields: dict[str, Any]) -> Head:
        """Behind `last`, and seals the new head."""
        entry = {**fields, "seq": last.seq + 1, "prev_hash": last.hash}
        newest = Head(last.seq + 1, hash_of(entry))
        await connection.execute(insert(audit).values({**entry, "hash": newest.hash}))
        sealed = self._seal(newest)
        await connection.execute(update(audit_head).values(seq=newest.seq, sealed=sealed))
        return newest

    def _seal(self, head: Head) -> bytes:
        return self._keys.seal(msgspec.json.encode(head).decode(), HEAD_CONTEXT)

    def _open(self, sealed: bytes | None) -> Head | None:
        """The head; an empty log's before the first start, None when it is not ours."""
        if sealed is None:
            has_started = self._heads is not None and self._heads.newest is not None
            return None if has_started else Head(0, GENESIS)
        try:
            return msgspec.json.decode(self._keys.unseal(sealed, HEAD_CONTEXT), type=Head)
        except Exception:  # whatever it is, it is not what this key sealed
            return None

    async def start(self) -> None:
        """At each start. At the first, the empty log's head is sealed: from then on, a log without
        a sealed head is one that was tampered with."""
        async with self._store.write() as connection:
            head = await self._head(connection)
            if head is not None and head.seq == 0 and not await _has(connection, 1):
                sealed = self._seal(Head(0, GENESIS))
                new = update(audit_head).where(audit_head.c.sealed.is_(None))
                await connection.execute(new.values(seq=0, sealed=sealed))
        self.is_broken = head is None
        if head is None:
            _log.error("the audit log was tampered with; verify it")
        await self.anchor(always=True)

    async def anchor(self, *, always: bool = False) -> None:
        """Notes the newest entry outside of the database, if that is due."""
        if self._heads is None:
            return
        async with self._store.read() as connection:
            head = await self._head(connection)
        self.is_broken = head is None
        if head is not None:
            try:
                await asyncio.to_thread(self._heads.note, head, self._clock(), always=always)
            except OSError as error:
                _log.error("the audit log's head cannot be noted", error=repr(error))

    async def head(self) -> AuditHead:
        """The newest entry; Unavailable when the head is not ours."""
        async with self._store.read() as connection:
            head = await self._head(connection)
            if head is None:
                raise _tampered_with()
            at = await connection.scalar(select(audit.c.at).where(audit.c.seq == head.seq))
        return AuditHead(head.seq, head.hash, at)

    async def _head(self, connection: AsyncConnection) -> Head | None:
        row = (await connection.execute(select(audit_head))).first()
        return None if row is None else self._open(row.sealed)

    async def verify(self, noted: Mapping[int, str] | None = None) -> Verification:
        """Walks all that was written, a chunk at a time, and compares it with the sealed head, with
        the heads that were noted outside, and with `noted`: more of these, the hash of each
        number."""
        walk, head, _ = await self._walk(noted or {})
        return walk.end(head)

    async def _walk(self, told: Mapping[int, str]) -> tuple[Walk, Head | None, Mapping[int, str]]:
        anchors = {} if self._heads is None else await asyncio.to_thread(self._heads.read)
        walk = Walk(anchors, told)
        async with self._store.read() as connection:
            while True:
                async for entry in _entries(connection, walk.last.seq, self._chunk_rows):
                    walk.take(entry)
                # Read after the entries: it is committed with them, so it is never behind them.
                head = await self._head(connection)
                behind = head is not None and head.seq > walk.last.seq
                if not behind or not await _has(connection, walk.last.seq + 1):
                    return walk, head, anchors

    async def restart(self, who: Principal, reason: str) -> AuditHead:
        """Begins a new chain behind one that is broken or whose key is lost; all that was written
        stays, and the first entry says who did it, why, and what was found. Conflict when nothing
        is broken."""
        reason = checked_text(reason, "reason", limits.AUDIT_VALUE_CHARS_MAX)
        walk, head, anchors = await self._walk({})
        found = walk.end(head).first_broken
        if found is None:
            raise Conflict("the audit log is whole: it goes on as it is", code="AUDIT_WHOLE")
        details: dict[str, Any] = {"reason": reason, "found": found.reason, "found_at": found.seq}
        async with self._store.write() as connection:
            old = (await connection.execute(select(audit_head).with_for_update())).first()
            if await _newest(connection) != walk.last.seq:
                raise Conflict("entries were added meanwhile: try again", code="AUDIT_BUSY")
            if old is None:
                await connection.execute(insert(audit_head).values(id=1, seq=0))
            elif old.sealed is not None:  # with the old key, it proves how far the old chain went
                details["sealed_head"] = base64.b64encode(old.sealed).decode()
            # Past what was noted as well: no number is given twice.
            sealed = 0 if head is None else head.seq
            before = Head(max((walk.last.seq, sealed, *anchors)), walk.digest)
            fields = self._fields(RESTARTED, details, who.org_id, who.user_id)
            newest = await self._add(connection, before, fields)
        self.is_broken = False
        _log.warning("the audit log begins a new chain", entry=newest.seq, found=found.reason)
        await self.anchor(always=True)
        return await self.head()

    async def page(
        self, who: Principal, paging: Paging, wanted: AuditFilter = _EVERYTHING
    ) -> Page[AuditEntry]:
        """Newest first. Members see what they did, org admins their org, admins all."""
        query = select(audit).where(visible(who, audit.c.org_id, audit.c.user_id, shared=False))
        query = query.where(*wanted.conditions)
        if (cursor := paging.cursor) is not None:
            if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 15:
                raise InvalidRequest("cursor is not one that a list returned")
            query = query.where(audit.c.seq < int(cursor))
        query = query.order_by(audit.c.seq.desc()).limit(paging.limit + 1)
        rows = await self._store.all(query)
        items = [_entry(row) for row in rows[: paging.limit]]
        return Page(items, str(items[-1].seq) if len(rows) > paging.limit else None)


async def _entries(
    connection: AsyncConnection, after: int, chunk_rows: int
) -> AsyncIterator[Row[Any]]:
    # From the very beginning at first: an entry numbered 0 or below is not ours.
    where = audit.c.seq > after if after else true()
    while True:
        query = select(audit).where(where).order_by(audit.c.seq)
        rows = (await connection.execute(query.limit(chunk_rows))).all()
        for row in rows:
            yield row
        if len(rows) < chunk_rows:
            return
        where = audit.c.seq > rows[-1].seq


async def _has(connection: AsyncConnection, seq: int) -> bool:
    query = select(audit.c.seq).where(audit.c.seq == seq)
    return (await connection.execute(query)).first() is not None


async def _newest(connection: AsyncConnection) -> int:
    return await connection.scalar(select(func.max(audit.c.seq))) or 0


def _tampered_with() -> Unavailable:
    return Unavailable("the audit log was tampered with; verify it", code="AUDIT_BROKEN")


def _entry(row: Row[Any]) -> AuditEntry:
    return AuditEntry(**{**row._asdict(), "details": msgspec.json.decode(row.details)})
