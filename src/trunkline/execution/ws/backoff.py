"""How long to wait before the next attempt to get a line (document 000 §6). No clock, no sleep."""

from collections.abc import Callable

from trunkline import limits


class Backoff:
    """1, 2, 4, 8, 16, 30, 30, 30 s and then 30 s for ever, each a little off so that the machines
    of one outage do not all return in the same moment."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._used = 0

    @property
    def is_exhausted(self) -> bool:
        """The documented delays are used up: who waits for the line should be told."""
        return self._used >= len(limits.RECONNECT_DELAYS_S)

    def next_s(self, at_least_s: float = 0.0) -> float:
        delays = limits.RECONNECT_DELAYS_S
        delay_s = max(delays[min(self._used, len(delays) - 1)], at_least_s)
        self._used += 1
        return delay_s * (1 + limits.RECONNECT_JITTER * (2 * self._random() - 1))

    def reset(self) -> None:
        """The line was up for a while."""
        self._used = 0
