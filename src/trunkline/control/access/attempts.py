"""How often one address may try to log in: a few times at once, then ever more slowly.

Counts before the try is decided, so that many at the same moment are no way around it.
"""

from trunkline.control.clock import Clock
from trunkline.control.errors import LimitReached

_FREE = 5
"""Tries before the first wait."""
_WAIT_MS_MAX = 5 * 60_000
_FORGET_MS = 15 * 60_000
_ADDRESSES_MAX = 10_000


class Attempts:
    """Of all addresses, the newest ones."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[int, int]] = {}
        """How many failed, and when the last one was."""

    def begin(self, address: str) -> None:
        """Counts as failed until `succeeded`; raises while the address has to wait."""
        now = self._clock()
        failed, last = self._known.pop(address, (0, now))
        if now - last > _FORGET_MS:
            failed = 0
        ready = last + _wait_ms(failed)
        if ready > now:
            self._known[address] = failed, last
            seconds = (ready - now) // 1000 + 1
            raise LimitReached(f"too many attempts; try again in {seconds} s")
        self._known[address] = failed + 1, now
        while len(self._known) > _ADDRESSES_MAX:
            del self._known[next(iter(self._known))]

    def succeeded(self, address: str) -> None:
        self._known.pop(address, None)


def _wait_ms(failed: int) -> int:
    return 0 if failed < _FREE else min(1000 << min(failed - _FREE, 20), _WAIT_MS_MAX)
