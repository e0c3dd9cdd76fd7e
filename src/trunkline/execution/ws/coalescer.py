"""Events for a moment before they are numbered: pieces of one text that come together become one.

Order within a session is kept; text never overtakes and never waits behind another session's.
"""

from collections.abc import Callable

from trunkline import limits
from trunkline.execution.ws.event import Event


class Coalescer:
    """Holds events by session until the line is ready for them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[str, list[Event]] = {}
        self._last_at: dict[str, float] = {}
        self.chars = 0
        self.is_urgent = False
        """Somebody waits for it: the first words of a session that was quiet or begins a turn,
        the end of a turn, a question."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, session_id: str, data: str) -> bool:
        """Whether it is one of those that must not be lost."""
        now = self._clock()
        event = Event(data)
        is_first = now - self._last_at.get(session_id, float("-inf")) > limits.SESSION_QUIET_S
        self.is_urgent = self.is_urgent or is_first or event.is_kept
        if event.is_kept:
            self._last_at.pop(session_id, None)  # what follows an end is a beginning
        else:
            self._last_at[session_id] = now
        self.chars += len(data)
        held = self._held.setdefault(session_id, [])
        if not (held and held[-1].join(event)):
            held.append(event)
        return event.is_kept

    def drain(self) -> list[tuple[str, Event]]:
        """Everything that is held, each session's in order."""
        held, self._held = self._held, {}
        self.chars, self.is_urgent = 0, False
        return [(session_id, event) for session_id, events in held.items() for event in events]

    def forget(self, session_id: str) -> None:
        """The session has ended."""
        self._last_at.pop(session_id, None)
