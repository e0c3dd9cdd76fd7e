"""The audit log: a chain in which every entry carries the hash of the one before it.

Entries are added and read, never changed. `verify` names the first place where the chain is broken:
an edited, removed or moved entry and, by the sealed head, a cut-off end or a chain computed anew by
someone who has the database but not the control plane's key. By the heads that were noted outside
(`audit_heads`) it also sees an old state that was put back, or an empty one.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Literal

import msgspec
import structlog
from sqlalchemy import ColumnElement, Row, insert, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.clock import Clock
from trunkline.control.errors import InvalidRequest, TooLarge, Unavailable
from trunkline.control.records.fields import checked_text
from trunkline.control.records.page import Page, Paging, visible
from trunkline.control.services.audit_heads import AuditHeads, Head
from trunkline.control.services.idempotency import Once, always
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import audit, audit_head

DETAILS_BYTES_MAX = 64 * 1024
_GENESIS = "0" * 64
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


class BrokenLink(msgspec.Struct, frozen=True):
    """Where the chain breaks first, and how."""

    seq: int
    reason: str


class Verification(msgspec.Struct, frozen=True):
    """`head` is the newest hash: noted down elsewhere, it shows a restored old database too."""

    ok: bool
    entries: int
    first_broken: BrokenLink | None
    head: str


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
        fields = {
            "at": self._clock(),
            "org_id": org_id,
            "user_id": user_id,
            "session_id": session_id,
            "source": source,
            "event": checked_text(event, "event", limits.NAME_CHARS_MAX),
            "details": _canonical(details or {}, "details", DETAILS_BYTES_MAX),
        }
        # This row's lock is what puts appends, of any number of control planes, in one order.
        taken = update(audit_head).where(audit_head.c.id == 1).values(seq=audit_head.c.seq + 1)
        head = (
            await connection.execute(taken.returning(audit_head.c.seq, audit_head.c.sealed))
        ).first()
        last = self._open(head.sealed) if head is not None else None
        self.is_broken = last is None
        if last is None:
            raise _tampered_with()  # a new sealed head would hide what was done to the log
        entry = {**fields, "seq": last.seq + 1, "prev_hash": last.hash}
        newest = Head(last.seq + 1, hash_of(entry))
        await connection.execute(insert(audit).values({**entry, "hash": newest.hash}))
        sealed = self._seal(newest)
        await connection.execute(update(audit_head).values(seq=newest.seq, sealed=sealed))
        return newest.seq

    def _seal(self, head: Head) -> bytes:
        return self._keys.seal(msgspec.json.encode(head).decode(), HEAD_CONTEXT)

    def _open(self, sealed: bytes | None) -> Head | None:
        """The head; an empty log's before the first start, None when it is not ours."""
        if sealed is None:
            has_started = self._heads is not None and self._heads.newest is not None
            return None if has_started else Head(0, _GENESIS)
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
                sealed = self._seal(Head(0, _GENESIS))
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
        """Walks the whole chain, a chunk at a time, and compares it with the sealed head, with the
        heads that were noted outside, and with `noted`: more of these, the hash of each number."""
        last = Head(0, _GENESIS)
        anchors = {} if self._heads is None else await asyncio.to_thread(self._heads.read)
        told = dict(noted or {})
        async with self._store.read() as connection:
            while True:
                async for entry in _entries(connection, last.seq, self._chunk_rows):
                    reason = _problem(last, entry) or _contradicts(entry, anchors, told)
                    if reason is not None:
                        broken = BrokenLink(last.seq + 1, reason)
                        return Verification(False, last.seq, broken, last.hash)
                    last = Head(entry.seq, entry.hash)
                # Read after the entries: it is committed with them, so it is never behind them.
                head = await self._head(connection)
                if head is None or head.seq <= last.seq or not await _has(connection, last.seq + 1):
                    break
        end = _end_problem(last, head) or _cut_off(last, {**anchors, **told})
        return Verification(end is None, last.seq, end, last.hash)

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


def _tampered_with() -> Unavailable:
    return Unavailable("the audit log was tampered with; verify it", code="AUDIT_BROKEN")


def _contradicts(entry: Row[Any], *noted: Mapping[int, str]) -> str | None:
    if any(one.get(entry.seq, entry.hash) != entry.hash for one in noted):
        return f"entry {entry.seq} is not the one that was noted as the head"
    return None


def _cut_off(last: Head, noted: Mapping[int, str]) -> BrokenLink | None:
    newest = max(noted, default=0)
    if newest <= last.seq:
        return None
    reason = f"entries {last.seq + 1} to {newest} are missing: one was noted as the head"
    return BrokenLink(last.seq + 1, reason)


def _end_problem(last: Head, head: Head | None) -> BrokenLink | None:
    if head == last:
        return None
    if head is None:
        return BrokenLink(last.seq + 1, "the head is missing or sealed by another key")
    if head.seq > last.seq:
        return BrokenLink(last.seq + 1, f"entries {last.seq + 1} to {head.seq} are missing")
    if head.seq < last.seq:
        return BrokenLink(head.seq + 1, f"entry {head.seq + 1} was added past the head")
    return BrokenLink(last.seq, "the chain was computed anew")


def _problem(last: Head, entry: Row[Any]) -> str | None:
    if entry.seq != last.seq + 1:
        return f"entry {last.seq + 1} is missing; the next one is {entry.seq}"
    if entry.prev_hash != last.hash:
        return f"entry {entry.seq} does not follow the entry before it"
    if entry.hash != hash_of(entry._asdict()):
        return f"entry {entry.seq} was changed"
    return None


_HASHED = ("seq", "at", "org_id", "user_id", "session_id", "event", "details")


def hash_of(entry: dict[str, Any]) -> str:
    # Entries from before there were sources have none, and none in their hash.
    names = _HASHED if entry["source"] is None else (*_HASHED, "source")
    fields = _canonical({name: entry[name] for name in names}, "entry", limits.FRAME_BYTES_MAX)
    return hashlib.sha256((entry["prev_hash"] + fields).encode()).hexdigest()


def _canonical(value: Any, field: str, bytes_max: int) -> str:
    """The one JSON text of a value: sorted keys, no spaces. Bounded."""
    try:
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        size = len(text.encode())  # also refuses half of a surrogate pair
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{field} is not plain JSON: {error}") from error
    if size > bytes_max:
        raise TooLarge(f"{field} has {size} bytes; at most {bytes_max} are allowed")
    return text


def _entry(row: Row[Any]) -> AuditEntry:
    return AuditEntry(**{**row._asdict(), "details": msgspec.json.decode(row.details)})
