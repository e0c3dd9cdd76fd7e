"""Waiting for a model: readers are told while it lasts, and it does not last for ever."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from trunkline.execution.llm.errors import no_first_byte, silent

T = TypeVar("T")

NEWS_S = (20.0, 60.0, 120.0, 300.0)
"""After how long readers are told that it still goes on, in one wait."""
CALL_NEWS_MAX = 20


class Patience:
    """For one call of a model. `tell` takes what readers see."""

    def __init__(
        self,
        model: str,
        *,
        first_byte_s: float,
        silence_s: float,
        tell: Callable[[str], None] | None,
        news_s: tuple[float, ...] = NEWS_S,
    ) -> None:
        self._model = model
        self._first_byte_s = first_byte_s
        self._silence_s = silence_s
        self._tell = tell
        self._news_s = news_s
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._since: float | None = None
        """When the present wait began."""
        self._told = self._told_in_wait = 0
        self.has_begun = False
        """Something has come."""
        self.is_spent = False
        """It was waited for too long."""

    async def next(self, stream: AsyncGenerator[T, None]) -> T:
        """The next piece. Raises ModelError when none comes in time."""
        self._since, self._told_in_wait = self._loop.time(), 0
        if self._timer is None and self._told < CALL_NEWS_MAX:
            self._look_after(self._news_s[0])
        allowed_s = self._silence_s if self.has_begun else self._first_byte_s
        try:
            async with asyncio.timeout(allowed_s) as limit:
                piece = await anext(stream)
        except TimeoutError:
            if not limit.expired():
                raise
            self.is_spent = True
            failed = silent if self.has_begun else no_first_byte
            raise failed(self._model, allowed_s) from None
        finally:
            self._since = None
        self.has_begun = True
        return piece

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look_after(self, seconds: float) -> None:
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Most waits are over long before: one timer serves them all."""
        self._timer = None
        if self._since is None or self._tell is None:
            return
        waited_s = self._loop.time() - self._since
        if waited_s >= self._news_s[self._told_in_wait]:
            verb = "Waiting for more of" if self.has_begun else "Waiting for"
            self._tell(f"{verb} {self._model} for {waited_s:.0f} s.")
            self._told_in_wait += 1
            self._told += 1
        if self._told_in_wait < len(self._news_s) and self._told < CALL_NEWS_MAX:
            self._look_after(self._news_s[self._told_in_wait] - waited_s)
