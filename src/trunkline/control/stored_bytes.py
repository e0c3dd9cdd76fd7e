"""What the sessions of a user weigh on disk: their logs, and the states that machines have saved.

Counted when somebody asks, a few sessions at a time, and remembered for a while: never in the way
of an event. What people attach to messages is in their logs.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from sqlalchemy import func, select

from trunkline.control.clock import Seconds
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import sessions
from trunkline.control.store.service_schema import snapshots

_FRESH_S = 60.0
_FRESH_WHEN_FULL_S = 2.0  # somebody may have made room
_SESSIONS_AT_ONCE = 500
_USERS_MAX = 10_000  # that are remembered

Sizes = Callable[[list[str]], Awaitable[dict[str, int]]]
"""The bytes of the logs of these sessions."""
Most = Callable[[str], Awaitable[int]]
"""How many a user may have."""


class Known(NamedTuple):
    used: int
    most: int
    at_s: float


class StoredBytes:
    """Of every user who was asked about lately."""

    def __init__(self, store: Store, sizes: Sizes | None, now: Seconds = time.monotonic) -> None:
        self._store = store
        self._sizes = sizes
        self._now = now
        self._known: dict[str, Known] = {}
        self._counting: dict[str, asyncio.Lock] = {}

    async def known(self, user_id: str, most: Most, *, is_full: bool = False) -> Known:
        """`is_full`: what is remembered speaks against a user, so it has to be newer."""
        fresh_s = _FRESH_WHEN_FULL_S if is_full else _FRESH_S
        counting = self._counting.setdefault(user_id, asyncio.Lock())
        async with counting:  # many who ask at once are told the same count
            found = self._known.get(user_id)
            if found is None or self._now() - found.at_s > fresh_s:
                self._known.pop(user_id, None)
                used, limit = await self._count(user_id), await most(user_id)
                found = self._known[user_id] = Known(used, limit, self._now())
        if len(self._known) > _USERS_MAX:
            oldest = next(iter(self._known))
            del self._known[oldest]
        if not counting.locked():
            self._counting.pop(user_id, None)
        return found

    def forget(self, user_id: str | None = None) -> None:
        """The next who asks has it counted again: for one user, or for all."""
        if user_id is None:
            self._known.clear()
        else:
            self._known.pop(user_id, None)

    async def _count(self, user_id: str) -> int:
        mine = select(sessions.c.id).where(sessions.c.user_id == user_id)
        saved = select(func.sum(snapshots.c.bytes)).where(snapshots.c.session_id.in_(mine))
        total = int(await self._store.scalar(saved) or 0)
        ids = list(await self._store.scalars(mine)) if self._sizes is not None else []
        for start in range(0, len(ids), _SESSIONS_AT_ONCE):
            assert self._sizes is not None
            total += sum((await self._sizes(ids[start : start + _SESSIONS_AT_ONCE])).values())
        return total
