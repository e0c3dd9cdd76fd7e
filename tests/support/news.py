"""Waiting for what another task hears: that one tells, and whoever waits looks again."""

import asyncio
from collections.abc import Callable

from tests.support.eventually import WAIT_S


class News:
    """`wait_s` bounds every wait."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self._wait_s = wait_s
        self._came = asyncio.Event()

    def tell(self) -> None:
        """Something has changed."""
        came, self._came = self._came, asyncio.Event()
        came.set()

    async def until(
        self, ready: Callable[[], object], what: str, seen: Callable[[], object]
    ) -> None:
        """Returns once it is ready; fails with what was seen instead."""
        try:
            async with asyncio.timeout(self._wait_s):
                while not ready():
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError(f"no {what} within {self._wait_s:.0f} s; got {seen()}") from None
