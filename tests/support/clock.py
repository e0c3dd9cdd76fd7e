"""Clocks that stand still until a test moves them, one for each of the two forms in use.

`Clock` counts seconds and can be slept by, as the execution plane does; `FakeClock` gives the Unix
time in milliseconds, as the control plane's clock does.
"""

import asyncio

START_MS = 1_800_000_000_000


class Clock:
    """Seconds, and a `sleep` that lasts until so many have passed here."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._moved = asyncio.Condition()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        async with self._moved:
            await self._moved.wait_for(lambda: self.now >= until)

    async def pass_time(self, seconds: float) -> None:
        """Moves on, and wakes who has slept enough."""
        async with self._moved:
            self.now += seconds
            self._moved.notify_all()


class FakeClock:
    """Unix milliseconds."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)
