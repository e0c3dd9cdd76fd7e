"""What each MyAgent connection was sent, so that a client can go on after any of its messages.

Runs: messages `seq`, `seq + 1`, … of a connection are of the events `event_id`, `event_id + 1`, …
of a session. A run without messages (count 0, a `seq` below 0) is where following began, after
`event_id`. Runs are written a moment later: a crash costs a repeat. `find` reads what is written.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec
import structlog
from sqlalchemy import ColumnElement, and_, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)

_runs = schema.myagent_runs
_SAME_EVENT_MAX = 8  # messages that one event can become
_CONNECTIONS_LOOKED_AT = 20


class Run(msgspec.Struct):
    connection_id: str
    seq: int
    session_id: str
    user_id: str
    event_id: int
    count: int
    created_at: int


class Place(NamedTuple):
    """Where to go on: after this event, without the first messages of the next one."""

    event_id: int
    skipped: int = 0


class Track:
    """One connection's newest run."""

    def __init__(self, connection_id: str, user_id: str) -> None:
        self.connection_id = connection_id
        self.user_id = user_id
        self.run: Run | None = None
        """The one that grows; None once it is written."""
        self.unsaved = 0
        self.followed = 0


class Positions:
    """The runs of all connections."""

    def __init__(self, store: Store, tasks: Tasks, clock: Clock) -> None:
        self._store = store
        self._tasks = tasks
        self._clock = clock
        self._unsaved: list[tuple[Track, Run]] = []
        self._saving = asyncio.Lock()
        self._is_due = False
        self._acked: OrderedDict[str, int] = OrderedDict()

    # --- Writing ------------------------------------------------------------------------------

    def sent(self, track: Track, session_id: str, seq: int, event_id: int) -> None:
        """A message of that event goes out. Does not wait."""
        run = track.run
        if (
            run is not None
            and run.session_id == session_id
            and run.event_id + run.count == event_id
            and run.seq + run.count == seq
        ):
            run.count += 1
            return
        track.run = self._add(track, seq, session_id, event_id, 1)
        self._save_later()

    async def begin(self, track: Track, session_id: str, event_id: int) -> None:
        """Following begins after that event: on disk before the first message goes out."""
        track.followed += 1
        self._add(track, -track.followed, session_id, event_id, 0)
        await self.save()

    def acknowledged(self, connection_id: str, seq: int) -> None:
        self._acked[connection_id] = max(seq, self._acked.pop(connection_id, 0))
        if len(self._acked) > limits.MYAGENT_ACKS_KEPT:
            self._acked.popitem(last=False)

    def _save_later(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(limits.MYAGENT_RUNS_SAVED_S, self.save_soon)

    def save_soon(self) -> None:
        self._is_due = False
        self._tasks.spawn(self.save(), "myagent positions")

    async def save(self) -> None:
        async with self._saving:
            unsaved, self._unsaved = self._unsaved, []
            for track, run in unsaved:
                track.unsaved -= 1
                if track.run is run:
                    track.run = None  # what is written does not grow
            if unsaved:
                await self._write_or_keep(unsaved)

    def _add(self, track: Track, seq: int, session_id: str, event_id: int, count: int) -> Run:
        now = self._clock()
        run = Run(track.connection_id, seq, session_id, track.user_id, event_id, count, now)
        self._unsaved.append((track, run))
        track.unsaved += 1
        return run

    async def _write_or_keep(self, unsaved: list[tuple[Track, Run]]) -> None:
        try:
            await self._write([run for _, run in unsaved])
        except Exception:
            for track, _ in unsaved:
                track.unsaved += 1
            self._unsaved[:0] = unsaved
            self._save_later()
            raise

    async def _write(self, runs: list[Run]) -> None:
        rows = [msgspec.structs.asdict(run) for run in runs]
        try:
            async with self._store.write() as connection:
                await connection.execute(insert(_runs), rows)
        except IntegrityError:
            # A session that was just deleted must not cost the others their positions.
            for row in rows:
                await self._write_one(row)

    async def _write_one(self, row: dict[str, Any]) -> None:
        try:
            async with self._store.write() as connection:
                await connection.execute(insert(_runs).values(row))
        except IntegrityError:
            _log.debug("no position is kept of a session that is gone", session=row["session_id"])

    async def purge(self) -> None:
        oldest = self._clock() - int(limits.MYAGENT_RUNS_KEPT_S * 1000)
        async with self._store.write() as connection:
            await connection.execute(delete(_runs).where(_runs.c.created_at < oldest))

    # --- Reading ------------------------------------------------------------------------------

    async def find(
        self,
        track: Track,
        session_id: str,
        connection_id: str | None,
        seq: int | None,
        live: Collection[str],
    ) -> Place | None:
        """Where a returning client goes on; None if nothing is known.

        Without a connection, the number is of this one if it follows the session, else of the
        user's last one. Without a number, everything that connection acknowledged, or was sent.
        """
        await self.save()
        if connection_id is None and seq is not None:
            place = await self._place(track.connection_id, session_id, seq)
            if place is not None:
                return place
        if connection_id is None:
            connection_id = await self._last_connection(track, session_id, live)
        elif await self._owner(connection_id) not in (None, track.user_id):
            raise NotFound("connection", connection_id)
        if connection_id is None:
            return None
        if seq is None:
            seq = self._acked.get(connection_id, limits.JSON_INT_MAX)
        return await self._place(connection_id, session_id, seq)

    async def _owner(self, connection_id: str) -> str | None:
        query = select(_runs.c.user_id).where(_runs.c.connection_id == connection_id).limit(1)
        async with self._store.read() as connection:
            owner: str | None = await connection.scalar(query)
            return owner

    async def _last_connection(
        self, track: Track, session_id: str, live: Collection[str]
    ) -> str | None:
        """The newest that has ended; a live one is probably another device."""
        newest = func.max(_runs.c.created_at)
        query = (
            select(_runs.c.connection_id)
            .where(
                _runs.c.user_id == track.user_id,
                _runs.c.session_id == session_id,
                _runs.c.connection_id != track.connection_id,
            )
            .group_by(_runs.c.connection_id)
            .order_by(newest.desc())
            .limit(_CONNECTIONS_LOOKED_AT)
        )
        async with self._store.read() as connection:
            found = list(await connection.scalars(query))
        return next((one for one in found if one not in live), next(iter(found), None))

    async def _place(self, connection_id: str, session_id: str, seq: int) -> Place | None:
        own = and_(_runs.c.connection_id == connection_id, _runs.c.session_id == session_id)
        sent = and_(own, _runs.c.count > 0)
        before = await self._select(and_(sent, _runs.c.seq <= seq), _runs.c.seq.desc())
        if before:
            return _place_in(before, seq)
        # It had got nothing of this session yet: it goes on where following began.
        after = await self._select(sent, _runs.c.seq.asc())
        if after:
            return Place(after[0].event_id - 1)
        begun = await self._select(own, _runs.c.seq.asc())
        return Place(begun[0].event_id) if begun else None

    async def _select(self, which: ColumnElement[bool], order: ColumnElement[Any]) -> list[Run]:
        columns = [_runs.c[name] for name in Run.__struct_fields__]
        query = select(*columns).where(which).order_by(order).limit(_SAME_EVENT_MAX)
        async with self._store.read() as connection:
            return [Run(*row) for row in await connection.execute(query)]


def _place_in(runs: list[Run], seq: int) -> Place:
    """`runs`, newest first, all of them begun up to `seq`: what was seen of the newest event."""
    newest = runs[0]
    event_id = newest.event_id + min(newest.count - 1, seq - newest.seq)
    skipped = 1
    if event_id == newest.event_id:
        next_seq = newest.seq
        for run in runs[1:]:
            last_event, last_seq = run.event_id + run.count - 1, run.seq + run.count - 1
            if last_event != event_id or last_seq != next_seq - 1:
                break
            skipped += 1
            next_seq = last_seq
    return Place(event_id - 1, skipped)
