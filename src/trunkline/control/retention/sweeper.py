"""Cuts off what is older, or more, than is kept: at leisure, some sessions a round.

What goes, goes together: events, and the records of turns and of questions whose end lies before
the cut. The turn under way, a question that waits and what the records have not read yet stay.
Usage and the audit log keep their numbers and entries.
"""

from typing import NamedTuple

import structlog
from sqlalchemy import and_, delete, func, or_, select

from trunkline.control.clock import Clock
from trunkline.control.log.log import Log
from trunkline.control.log.store import Head, Stored
from trunkline.control.metrics import Metrics
from trunkline.control.retention.policy import Retention
from trunkline.control.sessions.projection import Projection
from trunkline.control.store.engine import AnyRow, Store
from trunkline.control.store.schema import (
    approvals,
    org_retention,
    session_retention,
    sessions,
    turns,
)

_log = structlog.get_logger(__name__)

_SESSIONS = 500  # that are looked at in a round
_ROWS = 200  # of one session that go in a round
_DAY_MS = 24 * 3_600_000
_UNDER_WAY = ("queued", "sent", "steering")


_IS_BOUNDED = select(
    or_(select(org_retention).exists(), select(session_retention).exists()),
)


class _Session(NamedTuple):
    """One of which not everything is kept."""

    id: str
    keep: Retention
    folded_id: int
    open_id: int | None
    """The oldest event of a turn that is under way."""
    asked_at: int | None
    """When the oldest question was asked that waits for an answer."""


class Sweeper:
    """Of one control plane."""

    def __init__(
        self,
        store: Store,
        log: Log,
        projection: Projection,
        metrics: Metrics,
        clock: Clock,
        *,
        sessions_per_round: int = _SESSIONS,
        rows_per_round: int = _ROWS,
    ) -> None:
        self._store = store
        self._log = log
        self._projection = projection
        self._metrics = metrics
        self._clock = clock
        self._sessions_per_round = sessions_per_round
        self._rows_per_round = rows_per_round
        self._last = ""
        """The session that the last round ended with."""

    async def sweep(self) -> None:
        """One round. The next one goes on with the sessions behind."""
        if not await self._store.scalar(_IS_BOUNDED):
            return  # everything is kept for ever, as nearly everywhere
        found = await self._candidates()
        self._last = found[-1].id if len(found) == self._sessions_per_round else ""
        heads = await self._log.heads([one.id for one in found])
        for one in found:
            head = heads.get(one.id)
            if head is None or head.first_id > head.last_id:
                continue
            try:
                await self._cut(one, head)
            except Exception:  # the others are not to suffer from it
                _log.exception("a log could not be cut", session=one.id)

    async def _candidates(self, session_id: str | None = None) -> list[_Session]:
        own, org = session_retention, org_retention
        kept = (own.c.days, own.c.size_bytes, org.c.days, org.c.size_bytes)
        under_way = (
            select(func.min(func.coalesce(turns.c.said_id, 0)))
            .where(turns.c.session_id == sessions.c.id, turns.c.state.in_(_UNDER_WAY))
            .scalar_subquery()
        )
        asked = (
            select(func.min(approvals.c.created_at))
            .where(approvals.c.session_id == sessions.c.id, approvals.c.state == "pending")
            .scalar_subquery()
        )
        query = (
            select(sessions.c.id, sessions.c.folded_id, under_way, asked, *kept)
            .outerjoin(own, own.c.session_id == sessions.c.id)
            .outerjoin(org, org.c.org_id == sessions.c.org_id)
            .where(or_(own.c.session_id.is_not(None), org.c.org_id.is_not(None)))
            .order_by(sessions.c.id)
            .limit(self._sessions_per_round)
        )
        where = sessions.c.id > self._last if session_id is None else sessions.c.id == session_id
        return [_session(row) for row in await self._store.all(query.where(where))]

    async def _cut(self, session: _Session, head: Head) -> None:
        if not await self._due(session, head, 1):
            return  # nearly always
        if session.keep.size_bytes is not None:
            head = await self._log.folded(session.id) or head
        wanted = await self._due(session, head, self._rows_per_round)
        if wanted and wanted[-1].last_id > session.folded_id:
            # The records have read what a live session said, but note their place at turns only.
            if session.id not in await self._projection.load([session.id]):
                return
            again = await self._candidates(session.id)
            if not again:
                return  # all of it is kept now, or it is gone
            session = again[0]
            wanted = await self._due(session, head, self._rows_per_round)
        gone = [one for one in wanted if one.last_id <= session.folded_id]
        if not gone:
            return
        upto = gone[-1].last_id
        # First the records: who dies in between finds the events here, and cuts them again.
        await self._forget(session.id, upto, gone[-1].at)
        first_id = await self._log.cut(session.id, upto)
        done = [one for one in gone if one.last_id < first_id]
        self._metrics.retention_events += sum(one.last_id - one.first_id + 1 for one in done)
        self._metrics.retention_bytes += sum(one.bytes for one in done)

    async def _due(self, session: _Session, head: Head, limit: int) -> list[Stored]:
        """The rows that need not be kept, from the oldest on."""
        rows = await self._log.front(session.id, limit + 1)
        keep = session.keep
        before = 0 if keep.days is None else self._clock() - keep.days * _DAY_MS
        excess = 0 if keep.size_bytes is None else head.bytes - keep.size_bytes
        # However large it is, the newest row is not too much by itself.
        newest = rows[-1].last_id if rows and len(rows) <= limit else None
        due: list[Stored] = []
        for row in rows[:limit]:
            is_too_much = excess > 0 and row.last_id != newest
            if not (row.at < before or is_too_much) or not _may_go(session, row):
                break
            excess -= row.bytes
            due.append(row)
        return due

    async def _forget(self, session_id: str, upto: int, at: int) -> None:
        """What was said in turns that ended before, and questions that were settled."""
        has_ended = or_(
            turns.c.ended_id <= upto,
            and_(turns.c.ended_id.is_(None), turns.c.said_id <= upto),
            and_(turns.c.ended_id.is_(None), turns.c.said_id.is_(None), turns.c.created_at <= at),
        )
        async with self._store.write() as connection:
            await connection.execute(
                delete(turns).where(
                    turns.c.session_id == session_id,
                    turns.c.state.not_in(_UNDER_WAY),
                    has_ended,
                )
            )
            await connection.execute(
                delete(approvals).where(
                    approvals.c.session_id == session_id,
                    approvals.c.state != "pending",
                    approvals.c.created_at <= at,
                )
            )


def _session(row: AnyRow) -> _Session:
    session_id, folded_id, open_id, asked_at, days, size, org_days, org_size = row
    own, org = Retention(days=days, size_bytes=size), Retention(days=org_days, size_bytes=org_size)
    return _Session(session_id, own.within(org), folded_id, open_id, asked_at)


def _may_go(session: _Session, row: Stored) -> bool:
    """It is not of the turn under way, and no question in it waits for an answer."""
    is_over = session.open_id is None or row.last_id < session.open_id
    return is_over and (session.asked_at is None or row.at < session.asked_at)
