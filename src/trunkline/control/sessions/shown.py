"""How a session's owner wants their page to show it: pinned, hidden, in which place, which files
are open beside it. Nothing else depends on it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.errors import TooLarge
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

_BYTES_MAX = 64 * 1024
_sessions = schema.sessions

Json = dict[str, Any]


class Shown:
    """What pages keep of sessions. The caller has checked whose they are."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def of(self, session_ids: Iterable[str]) -> dict[str, Json]:
        """By session; those of which nothing is kept are left out."""
        ids = list(session_ids)[: limits.PAGE_MAX]
        query = select(_sessions.c.id, _sessions.c.shown).where(_sessions.c.id.in_(ids))
        return {row.id: row.shown for row in await self._store.all(query) if row.shown}

    async def change(self, session_id: str, **values: Any) -> Json:
        """Merges them into what is kept; returns all of it."""
        async with self._store.write() as connection:
            return await self._merge(connection, session_id, values)

    async def order(self, session_ids: Sequence[str]) -> None:
        """They are listed in this order."""
        async with self._store.write() as connection:
            for place, session_id in enumerate(session_ids):
                await self._merge(connection, session_id, {"sort_rank": place})

    async def _merge(self, connection: AsyncConnection, session_id: str, values: Json) -> Json:
        own = _sessions.c.id == session_id
        kept = await connection.scalar(select(_sessions.c.shown).where(own).with_for_update())
        merged = {**(kept or {}), **values, "changed_at": self._clock()}
        if len(msgspec.json.encode(merged)) > _BYTES_MAX:
            raise TooLarge(f"a page may keep {_BYTES_MAX} bytes of a session")
        await connection.execute(update(_sessions).where(own).values(shown=merged))
        return merged
