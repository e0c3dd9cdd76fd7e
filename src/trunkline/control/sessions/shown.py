"""How a session's owner wants their page to show it: pinned, archived (to Yeaft's pages: hidden),
in which place, which files are open beside it.
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
from trunkline.control.store.among import among
from trunkline.control.store.engine import AnyRow, Store
from trunkline.control.watchers import Watchers

_BYTES_MAX = 64 * 1024
_sessions = schema.sessions
_KEPT = (_sessions.c.pinned, _sessions.c.archived, _sessions.c.shown)

Json = dict[str, Any]


class Shown:
    """What pages keep of sessions. The caller has checked whose they are."""

    def __init__(self, store: Store, clock: Clock, changed: Watchers[str]) -> None:
        """`changed`: told of the sessions of which something else is kept."""
        self._store = store
        self._clock = clock
        self._changed = changed

    async def of(self, session_ids: Iterable[str]) -> dict[str, Json]:
        """By session; those of which nothing is kept are left out."""
        ids = list(session_ids)[: limits.PAGE_MAX]
        query = select(_sessions.c.id, *_KEPT).where(among(_sessions.c.id, ids))
        found = {row.id: _all_of(row) for row in await self._store.all(query)}
        return {session_id: kept for session_id, kept in found.items() if kept}

    async def change(self, session_id: str, **values: Any) -> Json:
        """Merges them into what is kept; returns all of it."""
        async with self._store.write() as connection:
            kept = await self._merge(connection, session_id, values)
        self._changed.tell(session_id)
        return kept

    async def order(self, session_ids: Sequence[str]) -> None:
        """They are listed in this order."""
        async with self._store.write() as connection:
            for place, session_id in enumerate(session_ids):
                await self._merge(connection, session_id, {"sort_rank": place})

    async def _merge(self, connection: AsyncConnection, session_id: str, values: Json) -> Json:
        own = _sessions.c.id == session_id
        row = (await connection.execute(select(*_KEPT).where(own).with_for_update())).first()
        if row is None:
            return {}
        merged = {**(row.shown or {}), **values, "changed_at": self._clock()}
        pinned = merged.pop("pinned", row.pinned)
        archived = merged.pop("hidden", row.archived)
        if len(msgspec.json.encode(merged)) > _BYTES_MAX:
            raise TooLarge(f"a page may keep {_BYTES_MAX} bytes of a session")
        kept = {"pinned": pinned, "archived": archived, "shown": merged}
        await connection.execute(update(_sessions).where(own).values(kept))
        return {**merged, "pinned": pinned, "hidden": archived}


def _all_of(row: AnyRow) -> Json:
    marks = {"pinned": row.pinned, "hidden": row.archived}
    return {**(row.shown or {}), **{name: True for name, is_set in marks.items() if is_set}}
