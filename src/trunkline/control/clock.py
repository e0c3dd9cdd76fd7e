"""The two clocks. Both are passed in, so that a test can turn them."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""The wall clock in the unit of the store: Unix milliseconds."""
Seconds = Callable[[], float]
"""One that only goes forward, for deadlines and silence: `time.monotonic`."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000
