"""Which turns of a machine have their end: a turn ends once, whatever its machine sends.

Lives with the machine in memory and is loaded with it. Knows turns by their names; records and
logs are the business of `Lifecycle`.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.sessions.turns import OPEN
from trunkline.control.store import schema

_ENDED_KEPT = 1000
_SESSIONS_AT_ONCE = 500


class Ends:
    """The turns of one machine, by session."""

    def __init__(self) -> None:
        self._given: dict[str, dict[str, None]] = {}
        """What the machine has and has not ended, oldest first."""
        self.ended: dict[str, None] = {}
        """The newest turns that have their end: another one of theirs is not shown."""
        self._owed: dict[str, set[str]] = {}
        """Turns that we ended and that the machine may yet end, perhaps without a name."""

    def gave(self, session_id: str, turn_id: str) -> None:
        """The machine is told of a turn. From now on an end without a name is this one's: were
        it taken for an older one's, this turn might never end."""
        self._owed.pop(session_id, None)
        if turn_id not in self.ended:
            self._given.setdefault(session_id, {})[turn_id] = None

    def given(self, session_id: str) -> list[str]:
        return list(self._given.get(session_id, ()))

    def has_ended(self, turn_id: str) -> bool:
        return turn_id in self.ended

    def close(self, session_id: str, turn_id: str) -> bool:
        """The turn has its end now; False if it had one before."""
        if turn_id in self.ended:
            return False
        given = self._given.get(session_id, {})
        given.pop(turn_id, None)
        if not given:
            self._given.pop(session_id, None)
        self.ended[turn_id] = None
        while len(self.ended) > _ENDED_KEPT:
            del self.ended[next(iter(self.ended))]
        return True

    def owe(self, session_id: str, turn_id: str) -> None:
        """We ended a turn that the machine may still be busy with."""
        self._owed.setdefault(session_id, set()).add(turn_id)

    def owes(self, session_id: str) -> bool:
        """Whether the machine may yet end a turn that we have ended."""
        return bool(self._owed.get(session_id))

    def late(self, session_id: str, name: str | None) -> str | None:
        """The turn that an end from the machine is too late for; None if it is not too late.

        A name that is none of ours says no more than no name.
        """
        owed = self._owed.get(session_id, set())
        if name is not None and name in self.ended:
            owed.discard(name)
            return name
        if name in self._given.get(session_id, ()) or not owed:
            return None
        return owed.pop()

    def end(self, session_id: str, name: str | None) -> str | None:
        """Takes an end from the machine. It is that of the turn that it names, or of the oldest
        one that the machine has; None if it has none."""
        given = self._given.get(session_id, {})
        turn_id = name if name in given else next(iter(given), None)
        if turn_id is not None:
            self.close(session_id, turn_id)
        return turn_id


async def load_ends(connection: AsyncConnection, session_ids: list[str]) -> Ends:
    """What the records say of these sessions' turns.

    A turn that is not known to have been sent may have been, just before a crash.
    """
    ends = Ends()
    ended: list[Row[Any, Any, Any]] = []
    for start in range(0, len(session_ids), _SESSIONS_AT_ONCE):
        some = session_ids[start : start + _SESSIONS_AT_ONCE]
        for turn_id, session_id in await _open(connection, some):
            ends.gave(session_id, turn_id)
        ended += await _ended(connection, some)
    for turn_id, session_id, owed in sorted(ended, key=lambda turn: turn.id)[-_ENDED_KEPT:]:
        ends.close(session_id, turn_id)
        if owed:
            ends.owe(session_id, turn_id)
    return ends


async def _open(connection: AsyncConnection, session_ids: list[str]) -> Sequence[Row[Any, Any]]:
    turns = schema.turns
    query = select(turns.c.id, turns.c.session_id).where(
        turns.c.session_id.in_(session_ids), turns.c.state.in_(OPEN)
    )
    return (await connection.execute(query.order_by(turns.c.id))).all()


async def _ended(
    connection: AsyncConnection, session_ids: list[str]
) -> Sequence[Row[Any, Any, Any]]:
    turns = schema.turns
    query = select(turns.c.id, turns.c.session_id, turns.c.owed).where(
        turns.c.session_id.in_(session_ids), turns.c.state.not_in(OPEN)
    )
    return (await connection.execute(query.order_by(turns.c.id.desc()).limit(_ENDED_KEPT))).all()
