"""When a newer line of a device takes over from an older one that is still open. Pure.

The newest always wins, and as a rule at once. Two programs with one `guid` both come back whenever
they are replaced: so the hand-overs of such a pair are put further and further apart.
"""

import math

_AT_ONCE = 2  # hand-overs in a row: a device whose network changes does that too
_FIRST_S = 2.0  # the next one waits so long, the one behind it twice that
_LONGEST_S = 60.0
_SOON_S = 60.0  # who was replaced comes back within 25 s; a line that nobody wants so long is calm
_PROOF_S = 5.0  # in which an open line shows that there is somebody: one that is not need not wait


class Handover:
    """Of one device. Times are those of a clock that only goes forward."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._last_s = -math.inf
        self._came_s = -math.inf
        self._due_s: float | None = None

    @property
    def is_contested(self) -> bool:
        """Whether somebody had to wait lately."""
        return self._in_a_row > _AT_ONCE

    def comes(self, now_s: float) -> bool:
        """A newer line is there. True: it takes over now. Else it waits until `is_due`; a still
        newer one takes its place and waits for the rest of that time."""
        if self._due_s is not None:
            return now_s >= self._due_s
        if now_s - self._last_s > _SOON_S:
            self._in_a_row = 0
        self._in_a_row += 1
        if not self.is_contested:
            return True
        delay_s = min(_FIRST_S * 2.0 ** (self._in_a_row - _AT_ONCE - 1), _LONGEST_S)
        self._came_s, self._due_s = now_s, now_s + delay_s
        return False

    def is_due(self, now_s: float, heard_s: float) -> bool:
        """`heard_s`: when the older line, which was asked for a sign of life, last gave one."""
        is_silent = heard_s <= self._came_s and now_s - self._came_s >= _PROOF_S
        return is_silent or (self._due_s is not None and now_s >= self._due_s)

    def took_over(self, now_s: float) -> None:
        self._last_s, self._due_s = now_s, None

    def calms(self, now_s: float) -> bool:
        """Whether a contest has ended: nobody came for a while. True once."""
        if not self.is_contested or now_s - max(self._last_s, self._due_s or 0.0) <= _SOON_S:
            return False
        self._in_a_row, self._due_s = 0, None
        return True
