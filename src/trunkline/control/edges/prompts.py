"""One turn at a time per session, for machines that take no more; the rest waits its turn.

Lives with a machine in its edge's host and survives the machine's lines. Pure: says what is to be
sent next, and sends nothing. What it holds is on disk as open turns; a restart fills it again.
"""

from collections import deque
from collections.abc import Iterator

from trunkline import limits
from trunkline.control.errors import LimitReached
from trunkline.control.machines.commands import Say
from trunkline.control.machines.outbox import size_of


class Prompts:
    """What each session of one machine is at, and what it is given after that."""

    def __init__(
        self,
        waiting_max: int = limits.SESSION_PROMPTS_MAX,
        waiting_bytes_max: int = limits.MACHINE_PROMPTS_BYTES_MAX,
    ) -> None:
        self._waiting_max = waiting_max
        self._waiting_bytes_max = waiting_bytes_max
        self._sessions: dict[str, deque[Say]] = {}
        """The first one is at work, the others wait. Never empty."""
        self._sizes: dict[str, int] = {}
        """What each that waits holds in memory, by its turn."""

    @property
    def is_empty(self) -> bool:
        return not self._sessions

    def add(self, say: Say) -> Say | None:
        """What is to be sent now: this one, if nothing is at work, or if it is what is at work
        (then it was lost on the way). One that waits already keeps its place."""
        queue = self._sessions.get(say.session_id)
        if queue is None:
            self._sessions[say.session_id] = deque([say])
            return say
        if queue[0].turn_id == say.turn_id:
            return say
        if say.turn_id not in self._sizes:
            self._sizes[say.turn_id] = self._checked_size(say, queue)
            queue.append(say)
        return None

    def _checked_size(self, say: Say, queue: deque[Say]) -> int:
        if len(queue) > self._waiting_max:
            raise LimitReached(
                f"{self._waiting_max} messages wait in this session already", code="SESSION_BUSY"
            )
        size = size_of(say)
        if size + sum(self._sizes.values()) > self._waiting_bytes_max:
            raise LimitReached("too much waits for this machine", code="MACHINE_BUSY")
        return size

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
            return None
        del self._sizes[queue[0].turn_id]
        return queue[0]

    def withdraw(self, turn_id: str) -> bool:
        """Takes back one that waits; the one at work cannot be."""
        if turn_id not in self._sizes:
            return False
        del self._sizes[turn_id]
        for say in self.waiting():
            if say.turn_id == turn_id:
                self._sessions[say.session_id].remove(say)
        return True

    def drop(self, session_id: str) -> list[Say]:
        """Forgets a session; what it had, the one at work first."""
        dropped = list(self._sessions.pop(session_id, ()))
        for say in dropped[1:]:
            del self._sizes[say.turn_id]
        return dropped
