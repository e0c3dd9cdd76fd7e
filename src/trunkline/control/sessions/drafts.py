"""Ids under which events are stored that no session's record has: not yet, or no longer.

Noted before the first event is written, or before the record goes. A process that dies in between
leaves the note, and the next start removes what nobody can see.
"""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select

from trunkline.control.clock import Clock
from trunkline.control.log.log import Log
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import drafts, sessions


class Drafts:
    def __init__(self, store: Store, log: Log, clock: Clock) -> None:
        self._store = store
        self._log = log
        self._clock = clock

    async def note(self, session_ids: Sequence[str]) -> None:
        if session_ids:
            now = self._clock()
            rows = [{"id": one, "created_at": now} for one in session_ids]
            async with self._store.write() as connection:
                await connection.execute(insert(drafts), rows)

    async def clear(self, session_ids: Sequence[str] | None = None) -> None:
        """Removes the events of those that have no record, and the notes of all. None: of every
        one, at the start."""
        if session_ids is None:
            session_ids = list(await self._store.scalars(select(drafts.c.id)))
        for session_id in session_ids:
            record = select(sessions.c.id).where(sessions.c.id == session_id)
            if await self._store.scalar(record) is None:
                await self._log.delete(session_id)
            await self._store.run(delete(drafts).where(drafts.c.id == session_id))
