"""Stops persons that keep each other talking. Pure; the clock comes in.

Only what answers set off is counted: whoever asks by hand may ask as often as they like.
"""

from collections import deque

from trunkline import limits
from trunkline.control.clock import Clock


class Guard:
    """Of one conversation."""

    def __init__(
        self,
        clock: Clock,
        *,
        depth_max: int = limits.GROUP_DEPTH_MAX,
        hits_max: int = limits.GROUP_HITS_MAX,
        hits_s: float = limits.GROUP_HITS_S,
    ) -> None:
        self._clock = clock
        self._depth_max = depth_max
        self._hits_max = hits_max
        self._hits_ms = int(hits_s * 1000)
        self._hits: dict[str, deque[int]] = {}

    def refusal(self, person_id: str, depth: int) -> str | None:
        """Counts one more hit of that person; why not, if it is one too many."""
        if depth > self._depth_max:
            return f"answers went back and forth {self._depth_max} times"
        now = self._clock()
        hits = self._hits.setdefault(person_id, deque())
        while hits and now - hits[0] >= self._hits_ms:
            hits.popleft()
        if len(hits) >= self._hits_max:
            return f"addressed {self._hits_max} times within {self._hits_ms / 1000:g} s"
        hits.append(now)
        return None
