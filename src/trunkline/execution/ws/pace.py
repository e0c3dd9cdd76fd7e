"""How fast frames may follow each other, so that a line stays under its messages per minute.

A bucket of frames: full after a quiet while, so that frames follow each other closely; the emptier
it is, the more distance they keep, and grow instead. No sleep: it says how long to wait.
"""

from collections.abc import Callable

from trunkline import limits


class Pace:
    """The budget of one line; it lives on when the line is opened again."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        per_s: float = limits.PACE_FRAMES_PER_S,
        burst: float = limits.PACE_BURST_FRAMES,
    ) -> None:
        self._clock = clock
        self._full = (per_s, burst)
        self._per_s, self._burst = self._full
        self._left = self._burst
        self._at = clock()
        self._sent_at = float("-inf")

    def take(self, *, urgent: bool) -> bool:
        """Uses the budget for one frame; False when there is none left. What is not urgent
        leaves a reserve for what is."""
        if self.wait_s(urgent=urgent) > 0:
            return False
        self._left -= 1
        self._sent_at = self._at
        return True

    def wait_s(self, *, urgent: bool) -> float:
        """How long until `take` says yes."""
        self._refill()
        if urgent:
            return max(0.0, (1.0 - self._left) / self._per_s)
        budget_s = (1.0 + self._burst * limits.PACE_RESERVE - self._left) / self._per_s
        distance_s = self._sent_at + self._gap_s() - self._at
        return max(0.0, budget_s, distance_s)

    def slow_down(self) -> None:
        """The control plane found us too fast (4029)."""
        self._refill()
        self._per_s = max(1.0, self._per_s / 2)
        self._burst = max(4.0, self._burst / 2)
        self._left = min(self._left, self._burst)

    def recover(self) -> None:
        self._per_s, self._burst = self._full

    def _gap_s(self) -> float:
        """From hardly any, when nothing was said for a while, to what can be kept up for ever."""
        used = 1 - self._left / self._burst
        return max(limits.PACE_GAP_S_MIN, used / self._per_s)

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now
