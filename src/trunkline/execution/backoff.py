"""How long to wait before the next attempt, for everything that tries again. No clock, no sleep."""

from collections.abc import Callable, Sequence


class Backoff:
    """The delays in turn, then the last one for ever.

    `jitter` is the part of a delay that it may be off either way, so that the machines of one
    outage do not all return in the same moment; `random` decides within it.
    """

    def __init__(
        self,
        delays_s: Sequence[float],
        *,
        jitter: float = 0.0,
        random: Callable[[], float] = lambda: 0.5,
    ) -> None:
        self._delays_s = delays_s
        self._jitter = jitter
        self._random = random
        self._used = 0

    @property
    def is_exhausted(self) -> bool:
        """Every delay was used once."""
        return self._used >= len(self._delays_s)

    def next_s(self, at_least_s: float = 0.0) -> float:
        delay_s = max(self._delays_s[min(self._used, len(self._delays_s) - 1)], at_least_s)
        self._used += 1
        return delay_s * (1 + self._jitter * (2 * self._random() - 1))

    def reset(self) -> None:
        """An attempt went well."""
        self._used = 0
