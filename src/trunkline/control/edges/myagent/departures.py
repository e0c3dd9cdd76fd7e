"""Who broke off in mid-turn: the sessions that a user's next connection goes on with. Pure.

A page that comes back says nothing about its session, and expects the rest of the answer.
"""

from trunkline import limits
from trunkline.wire.events import keep
from trunkline.wire.myagent.identifiers import Seen

_USERS_MAX = 10_000


class Departures:
    """By user: each session, and how far the connection was that followed it."""

    def __init__(self, users_max: int = _USERS_MAX) -> None:
        self._users_max = users_max
        self._left: dict[str, dict[str, Seen]] = {}

    def left(self, user_id: str, sessions: dict[str, Seen]) -> None:
        """A connection is gone, and turns run in these of its sessions."""
        if not sessions:
            return
        left = self._left.pop(user_id, {}) | sessions
        for session_id in list(left)[: -limits.MYAGENT_SESSIONS_MAX]:
            del left[session_id]
        keep(self._left, user_id, left, self._users_max)

    def take(self, user_id: str) -> dict[str, Seen]:
        """For the user's next connection."""
        return self._left.pop(user_id, {})
