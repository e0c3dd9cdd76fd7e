"""How fast frames may follow each other, so that a line stays under its messages per minute.

A bucket of frames: full after a quiet while, so that a frame goes at once; nearly empty under
load, so that frames keep their distance and grow instead. No sleep: it says how long to wait.
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

    def take(self, *, urgent: bool) -> bool:
        """Uses the budget for one frame; False when there is none left. What is not urgent
        leaves a reserve for what is."""
        self._refill()
        if self._left < self._needed(urgent):
            return False
        self._left -= 1
        return True

    def wait_s(self, *, urgent: bool) -> float:
        """How long until `take` says yes."""
        self._refill()
        return max(0.0, (self._needed(urgent) - self._left) / self._per_s)

    def slow_down(self) -> None:
        """The control plane found us too fast (4029)."""
        self._refill()
        self._per_s = max(1.0, self._per_s / 2)
        self._burst = max(4.0, self._burst / 2)
        self._left = min(self._left, self._burst)

    def recover(self) -> None:
        self._per_s, self._burst = self._full

    def _needed(self, urgent: bool) -> float:
        return 1.0 if urgent else 1.0 + self._burst * limits.PACE_RESERVE

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now
