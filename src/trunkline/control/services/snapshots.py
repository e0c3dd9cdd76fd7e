"""The newest states that a session's machine has saved, for starting it again elsewhere.

Three are kept: one that turns out to be damaged must not be the only one.
"""

from typing import Any

from sqlalchemy import delete, func, insert, select

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.ids import new_id
from trunkline.control.records.fields import checked_object
from trunkline.control.store.engine import Store
from trunkline.control.store.service_schema import snapshots

KEPT = 3


class Snapshots:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def sync(self, session_id: str, data: dict[str, Any]) -> None:
        """Stores a state and deletes the oldest beyond `KEPT`."""
        checked_object(data, "snapshot", limits.SNAPSHOT_BYTES_MAX)
        of_session = snapshots.c.session_id == session_id
        async with self._store.write() as connection:
            newest = select(func.max(snapshots.c.created_at)).where(of_session)
            last = (await connection.execute(newest)).scalar()
            # Strictly later than the last one, so that there is always one newest.
            at = max(self._clock(), (last or 0) + 1)
            row = {"id": new_id(), "session_id": session_id, "data": data, "created_at": at}
            await connection.execute(insert(snapshots).values(row))
            kept = (
                select(snapshots.c.id)
                .where(of_session)
                .order_by(snapshots.c.created_at.desc())
                .limit(KEPT)
            )
            await connection.execute(
                delete(snapshots).where(of_session, snapshots.c.id.not_in(kept))
            )

    async def latest(self, session_id: str) -> dict[str, Any] | None:
        query = (
            select(snapshots.c.data)
            .where(snapshots.c.session_id == session_id)
            .order_by(snapshots.c.created_at.desc())
            .limit(1)
        )
        data: dict[str, Any] | None = await self._store.scalar(query)
        return data
