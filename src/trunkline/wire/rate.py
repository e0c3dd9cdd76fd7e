"""How many messages a connection may send. Pure: the time comes in as an argument."""

from collections import deque
from typing import Final

RATE_LIMITED: Final = 4029
"""What a connection is closed with that sends more, whatever its wire."""


class RateLimit:
    """At most so many messages in any span of sixty seconds."""

    __slots__ = ("_max", "_times")

    def __init__(self, per_minute: int) -> None:
        self._max = per_minute
        self._times: deque[float] = deque()

    def count(self, now: float) -> bool:
        """Counts a message; False when it is one too many."""
        times = self._times
        times.append(now)
        while times[0] <= now - 60.0:
            times.popleft()
        return len(times) <= self._max
