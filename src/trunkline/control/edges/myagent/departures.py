"""Who broke off in mid-turn: the sessions that a user's next connection goes on with. Pure.

A page that comes back says nothing about its session, and expects the rest of the answer. It comes
back soon: a connection that is opened much later is somebody who wants something else.
"""

from typing import NamedTuple

from trunkline import limits
from trunkline.control.clock import Seconds
from trunkline.wire.events import keep
from trunkline.wire.myagent.identifiers import Seen

_USERS_MAX = 10_000


class _Left(NamedTuple):
    at: float
    seen: Seen


class Departures:
    """By user: each session, and how far the connection was that followed it."""

    def __init__(self, kept_s: float, now: Seconds, users_max: int = _USERS_MAX) -> None:
        self._kept_s = kept_s
        self._now = now
        self._users_max = users_max
        self._left: dict[str, dict[str, _Left]] = {}

    def left(self, user_id: str, sessions: dict[str, Seen]) -> None:
        """A connection is gone, and turns run in these of its sessions."""
        if not sessions:
            return
        now = self._now()
        new = {session_id: _Left(now, seen) for session_id, seen in sessions.items()}
        left = self._left.pop(user_id, {}) | new
        for session_id in list(left)[: -limits.MYAGENT_SESSIONS_MAX]:
            del left[session_id]
        keep(self._left, user_id, left, self._users_max)

    def take(self, user_id: str) -> dict[str, Seen]:
        """For the user's next connection."""
        oldest = self._now() - self._kept_s
        left = self._left.pop(user_id, {})
        return {session_id: one.seen for session_id, one in left.items() if one.at > oldest}
