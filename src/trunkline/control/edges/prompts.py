"""One turn at a time per session, for machines that take no more; the rest waits its turn.

Lives with a machine in its edge's host and survives the machine's lines. Pure: says what is to be
sent next, and sends nothing. What it holds is on disk as open turns; a restart fills it again.
"""

from collections import deque
from collections.abc import Iterator

from trunkline import limits
from trunkline.control.commands import Say
from trunkline.control.errors import LimitReached


class Prompts:
    """What each session of one machine is at, and what it is given after that."""

    def __init__(self, waiting_max: int = limits.SESSION_PROMPTS_MAX) -> None:
        self._waiting_max = waiting_max
        self._sessions: dict[str, deque[Say]] = {}
        """The first one is at work, the others wait. Never empty."""

    def add(self, say: Say) -> Say | None:
        """What is to be sent now: this one, if nothing is at work, or if it is what is at work
        (then it was lost on the way). One that waits already keeps its place."""
        queue = self._sessions.get(say.session_id)
        if queue is None:
            self._sessions[say.session_id] = deque([say])
            return say
        if queue[0].turn_id == say.turn_id:
            return say
        if all(one.turn_id != say.turn_id for one in queue):
            if len(queue) > self._waiting_max:
                raise LimitReached(
                    f"{self._waiting_max} messages wait in this session already",
                    code="SESSION_BUSY",
                )
            queue.append(say)
        return None

    def current(self, session_id: str) -> Say | None:
        """What the session is at."""
        queue = self._sessions.get(session_id)
        return queue[0] if queue is not None else None

    def at_work(self) -> list[Say]:
        """What all sessions are at."""
        return [queue[0] for queue in self._sessions.values()]

    def waiting(self, session_id: str | None = None) -> Iterator[Say]:
        """What waits, in its order: in one session, or in all."""
        queues = list(self._sessions.values())
        if session_id is not None:
            queues = [self._sessions.get(session_id, deque())]
        return (say for queue in queues for say in list(queue)[1:])

    def ended(self, session_id: str, turn_id: str) -> Say | None:
        """A turn has its end. The next one to send, if it was the one at work."""
        current = self.current(session_id)
        if current is None or current.turn_id != turn_id:
            self.withdraw(turn_id)
            return None
        queue = self._sessions[session_id]
        queue.popleft()
        if not queue:
            del self._sessions[session_id]
        return self.current(session_id)

    def withdraw(self, turn_id: str) -> bool:
        """Takes back one that waits; the one at work cannot be."""
        for say in self.waiting():
            if say.turn_id == turn_id:
                self._sessions[say.session_id].remove(say)
                return True
        return False

    def drop(self, session_id: str) -> list[Say]:
        """Forgets a session; what it had, the one at work first."""
        return list(self._sessions.pop(session_id, ()))
