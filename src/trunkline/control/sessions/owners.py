"""Whose a session is: all that has to be known of it by who lets a reader in."""

from collections.abc import Iterable

from sqlalchemy import select

from trunkline.control.access.auth import Principal
from trunkline.control.errors import NotFound
from trunkline.control.gathering import Gathering
from trunkline.control.ids import is_id
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import sessions


class Owners:
    """Asked anew for each reader, and for those that come in the same moment together."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found = Gathering(self._look)

    async def check(self, who: Principal, session_id: str) -> None:
        """Raises unless there is such a session, and that person may see it."""
        if not await self.seen(who, [session_id]):
            raise NotFound("session", session_id)

    async def seen(self, who: Principal, session_ids: Iterable[str]) -> list[str]:
        """Those of them that there are, and that the person may see."""
        owners = await self._found.some([one for one in session_ids if is_id(one)])
        return [
            session_id
            for session_id, (org_id, user_id) in owners.items()
            if who.may_see(org_id=org_id, user_id=user_id)
        ]

    async def _look(self, session_ids: list[str]) -> dict[str, tuple[str, str]]:
        query = select(sessions.c.id, sessions.c.org_id, sessions.c.user_id)
        rows = await self._store.all(query.where(among(sessions.c.id, session_ids)))
        return {row.id: (row.org_id, row.user_id) for row in rows}
