"""What each MyAgent connection was sent, so that a client can go on after any of its messages.

Pages (see `pages`) are written a moment after they have grown: a crash costs a repeat.
`find` reads what is written.
"""

import asyncio
from collections.abc import Collection
from typing import Any

import msgspec
from sqlalchemy import and_, bindparam, delete, exists, func, insert, or_, select

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.edges.myagent.pages import Page, Place, Run, Track, place_on
from trunkline.control.errors import NotFound
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks
from trunkline.wire.myagent.identifiers import Seen

_pages = schema.myagent_runs
_CONNECTIONS_LOOKED_AT = 20
_UNSAVED_MS_MAX = 1000  # by which what is written may be behind after a crash
_KEY = ("connection_id", "session_id", "seq")
_DELETE = delete(_pages).where(*(_pages.c[name] == bindparam(f"key_{name}") for name in _KEY))
# Of a session that was just deleted no position is kept; it must not cost the others theirs.
_INSERT = insert(_pages).from_select(
    list(_pages.c),
    select(*(bindparam(column.name, type_=column.type) for column in _pages.c)).where(
        exists().where(schema.sessions.c.id == bindparam("session_id"))
    ),
)


class Positions:
    """The pages of all connections."""

    def __init__(self, store: Store, tasks: Tasks, clock: Clock) -> None:
        self._store = store
        self._tasks = tasks
        self._clock = clock
        self._unsaved: dict[Page, None] = {}
        self._dropped: list[dict[str, Any]] = []
        self._saving = asyncio.Lock()
        self._is_due = False

    def sent(
        self,
        track: Track,
        session_id: str,
        seq: int,
        event_id: int,
        nth: int = 0,
        first_id: int | None = None,
    ) -> None:
        """A message of that event goes out; or of all from `first_id` up to it, joined. Does not
        wait."""
        page = track.book(session_id).page
        if page is None or page.is_full:
            place = Place((first_id or event_id) - 1, nth)
            page = self._open(track, session_id, seq, place, begins=False)
        page.add(seq, event_id, nth)
        self._changed(page)

    async def begin(self, track: Track, session_id: str, seq: int, place: Place) -> None:
        """Following begins there; the next message has that number. On disk when it returns."""
        page = track.book(session_id).page
        if page is not None and page.seq == seq:
            page.place = place  # it began elsewhere, and nothing was sent since
        else:
            page = self._open(track, session_id, seq, place, begins=True)
        self._changed(page)
        await self.save()

    def touch(self, track: Track, session_id: str) -> None:
        """That connection is there still, however long ago it was sent something."""
        if (page := track.book(session_id).page) is not None:
            self._changed(page)

    async def acknowledged(self, track: Track, seq: int) -> None:
        """What is sent counts as received until the client says how far it is: its first word of
        that must not be lost, a later one costs a repeat."""
        is_first = track.acked is None
        for page in track.acknowledge(seq):
            self._changed(page)
        if is_first:
            await self.save()

    def _open(self, track: Track, session_id: str, seq: int, place: Place, *, begins: bool) -> Page:
        page = Page(track, session_id, seq, place, track.acked)
        dropped = track.book(session_id).open(page, begins=begins)
        if dropped is not None:
            self._dropped.append(_key_of({**page.row(), "seq": dropped}))
        return page

    def _changed(self, page: Page) -> None:
        page.updated_at = self._clock()
        if page not in self._unsaved:
            self._unsaved[page] = None
            page.track.unsaved += 1
            self._save_later()

    def _save_later(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._tasks.spawn(self._save_due(), "myagent positions")

    async def _save_due(self) -> None:
        await asyncio.sleep(limits.MYAGENT_RUNS_SAVED_S)
        self._is_due = False
        await self.save()

    def save_soon(self) -> None:
        self._tasks.spawn(self.save(), "myagent positions")

    async def save(self) -> None:
        async with self._saving:
            if not self._unsaved:
                return
            unsaved, self._unsaved = list(self._unsaved), {}
            dropped, self._dropped = self._dropped, []
            for page in unsaved:
                page.track.unsaved -= 1
            try:
                await self._write(unsaved, dropped)
            except BaseException:
                for page in unsaved:
                    self._changed(page)
                self._dropped = dropped + self._dropped
                raise

    async def _write(self, pages: list[Page], dropped: list[dict[str, Any]]) -> None:
        rows = [page.row() for page in pages]
        async with self._store.write() as connection:
            await connection.execute(_DELETE, [_key_of(row) for row in rows])
            await connection.execute(_INSERT, rows)
            if dropped:
                await connection.execute(_DELETE, dropped)

    async def purge(self) -> None:
        oldest = self._clock() - int(limits.MYAGENT_RUNS_KEPT_S * 1000)
        await self._store.run(delete(_pages).where(_pages.c.updated_at < oldest))

    async def find(
        self,
        track: Track,
        session_id: str,
        connection_id: str | None,
        seq: int | None,
        live: Collection[str],
    ) -> Place | None:
        """Where a returning client goes on; None if nothing is known.

        Without a connection, it is this one if it was sent anything of the session, else the
        user's last one. Without a number, everything that it acknowledged, or else was sent.
        """
        await self.save()
        if connection_id is None:
            place = await self._place(track.connection_id, session_id, seq)
            if place is not None:
                return place
            connection_id = await self._last_connection(track, session_id, live)
        elif await self._owner(connection_id) not in (None, track.user_id):
            raise NotFound("connection", connection_id)
        if connection_id is None:
            return None
        return await self._place(connection_id, session_id, seq)

    async def unfinished(self, user_id: str, since_ms: int) -> dict[str, Seen]:
        """Sessions of which connections of that user were sent something since then, and were in
        the middle of a turn when they ended: by session, the last such connection."""
        newest = func.max(_pages.c.updated_at)
        query = (
            select(_pages.c.session_id, _pages.c.connection_id, newest)
            .where(_pages.c.user_id == user_id, _pages.c.updated_at >= since_ms)
            .group_by(_pages.c.session_id, _pages.c.connection_id)
            .order_by(newest.desc())
            .limit(limits.MYAGENT_SESSIONS_MAX)
        )
        found: dict[str, Seen] = {}
        for session_id, connection_id, last_ms in await self._store.all(query):
            if session_id not in found and await self._is_in_a_turn(
                session_id, connection_id, last_ms + _UNSAVED_MS_MAX
            ):
                found[session_id] = Seen(connection_id, None)
        return found

    async def _is_in_a_turn(self, session_id: str, connection_id: str, until_ms: int) -> bool:
        """Whether it has not seen the end of one that had begun by then."""
        place = await self._place(connection_id, session_id, None)
        if place is None:
            return False
        turns, seen_id = schema.turns.c, place.event_id + min(place.skipped, 1)
        is_open = or_(turns.ended_id.is_(None), turns.ended_id > seen_id)
        query = select(turns.id).where(turns.session_id == session_id, turns.steers.is_(None))
        query = query.where(turns.created_at <= until_ms, is_open)
        return await self._store.scalar(query.limit(1)) is not None

    async def _owner(self, connection_id: str) -> str | None:
        query = select(_pages.c.user_id).where(_pages.c.connection_id == connection_id).limit(1)
        owner: str | None = await self._store.scalar(query)
        return owner

    async def _last_connection(
        self, track: Track, session_id: str, live: Collection[str]
    ) -> str | None:
        """The newest that has ended; a live one is probably another device."""
        newest = func.max(_pages.c.updated_at)
        query = (
            select(_pages.c.connection_id)
            .where(_pages.c.user_id == track.user_id, _pages.c.session_id == session_id)
            .group_by(_pages.c.connection_id)
            .order_by(newest.desc())
            .limit(_CONNECTIONS_LOOKED_AT)
        )
        found = await self._store.scalars(query)
        return next((one for one in found if one not in live), next(iter(found), None))

    async def _place(self, connection_id: str, session_id: str, seq: int | None) -> Place | None:
        own = and_(_pages.c.connection_id == connection_id, _pages.c.session_id == session_id)
        found = select(_pages.c.event_id, _pages.c.skipped, _pages.c.runs).where(own).limit(1)
        async with self._store.read() as connection:
            if seq is None:
                acked = await connection.scalar(select(func.max(_pages.c.acked)).where(own))
                seq = limits.JSON_INT_MAX if acked is None else acked
            before = found.where(_pages.c.seq <= seq).order_by(_pages.c.seq.desc())
            row = (await connection.execute(before)).first()
            if row is None:
                # It had got nothing of this session yet: it goes on where following began.
                row = (await connection.execute(found.order_by(_pages.c.seq))).first()
        if row is None:
            return None
        event_id, skipped, runs = row
        return place_on(Place(event_id, skipped), msgspec.convert(runs, list[Run]), seq)


def _key_of(row: dict[str, Any]) -> dict[str, Any]:
    return {f"key_{name}": row[name] for name in _KEY}
