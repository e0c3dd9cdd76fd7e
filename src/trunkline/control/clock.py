"""The wall clock in the unit of the store. Passed in where a test wants to turn it."""

import time
from collections.abc import Callable

Clock = Callable[[], int]


def now_ms() -> int:
    return time.time_ns() // 1_000_000
