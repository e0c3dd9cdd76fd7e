"""How often may be tried to log in: a few times at once, then ever more slowly.

Counted by address, and by name, so that many addresses together do not guess at one name. Counts
before the try is decided, so that many at the same moment are no way around it.
"""

from trunkline.control.clock import Clock
from trunkline.control.errors import LimitReached

_ADDRESS_FREE = 5
"""Tries before the first wait."""
_ADDRESS_WAIT_MS_MAX = 5 * 60_000
_NAME_FREE = 20
_NAME_WAIT_MS_MAX = 10_000  # short: it is others who make somebody wait
_FORGET_MS = 15 * 60_000
_KEPT_MAX = 10_000


class Attempts:
    """The newest ones of all addresses and names."""

    def __init__(self, clock: Clock) -> None:
        self._addresses = _Failures(clock, _ADDRESS_FREE, _ADDRESS_WAIT_MS_MAX)
        self._names = _Failures(clock, _NAME_FREE, _NAME_WAIT_MS_MAX)
        self._usual: dict[tuple[str, str], None] = {}
        """Where somebody has logged in before: what others do elsewhere does not hold them up."""

    def begin(self, address: str, name: str | None = None) -> None:
        """Counts as failed until `succeeded`; raises while the address, or the name, has to wait.
        Without a name: of what nobody can guess, all others do not hold somebody up."""
        self._addresses.check(address)
        if name is not None and (address, name) not in self._usual:
            self._names.check(name)
        self._addresses.add(address)
        if name is not None:
            self._names.add(name)

    def succeeded(self, address: str, name: str | None = None) -> None:
        """Takes back this one try: whoever failed before has failed all the same."""
        self._addresses.take_back(address)
        if name is None:
            return
        self._names.take_back(name)
        self._usual.pop((address, name), None)
        self._usual[address, name] = None
        if len(self._usual) > _KEPT_MAX:
            del self._usual[next(iter(self._usual))]


class _Failures:
    """Of one kind of key."""

    def __init__(self, clock: Clock, free: int, wait_ms_max: int) -> None:
        self._clock = clock
        self._free = free
        self._wait_ms_max = wait_ms_max
        self._known: dict[str, tuple[int, int]] = {}
        """How many failed, and when the last one was."""

    def check(self, key: str) -> None:
        """Raises while the key has to wait."""
        failed, last = self._of(key)
        left_ms = last + self._wait_ms(failed) - self._clock()
        if left_ms > 0:
            raise LimitReached(f"too many attempts; try again in {left_ms // 1000 + 1} s")

    def add(self, key: str) -> None:
        failed, _ = self._of(key)
        self._known.pop(key, None)
        self._known[key] = failed + 1, self._clock()
        if len(self._known) > _KEPT_MAX:
            del self._known[next(iter(self._known))]

    def take_back(self, key: str) -> None:
        failed, last = self._known.pop(key, (0, 0))
        if failed > 1:
            self._known[key] = failed - 1, last

    def _of(self, key: str) -> tuple[int, int]:
        failed, last = self._known.get(key, (0, 0))
        return (0, 0) if self._clock() - last > _FORGET_MS else (failed, last)

    def _wait_ms(self, failed: int) -> int:
        if failed < self._free:
            return 0
        return min(1000 << min(failed - self._free, 20), self._wait_ms_max)
