"""A stream of server-sent events that is connected again whenever it breaks.

The server's wish when to come back (`retry`) is kept; else the wait grows with each attempt that
brings nothing. What the frames mean, and where to go on, is the business of the subclasses.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar

from trunkline import limits
from trunkline.client.errors import ApiError, StreamBroken, Unreachable
from trunkline.client.http import Http
from trunkline.client.sse import Frame, SseParser

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[Any]]

WAITS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Before the next attempt, after one that failed, after two…"""
_EVENT_BYTES_MAX = 2 * limits.FRAME_BYTES_MAX
ATTEMPTS_MAX = 12  # in a row, without a single event: about half a minute


class Live(Generic[T]):
    """`async for one in live`; ends only with an error.

    Whoever leaves the loop and lives on closes it: `async with aclosing(aiter(live)) as events`.
    """

    def __init__(
        self,
        http: Http,
        path: Sequence[str],
        *,
        attempts_max: int = ATTEMPTS_MAX,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._http = http
        self._path = path
        self._attempts_max = attempts_max
        self._sleep = sleep
        self._retry_s: float | None = None
        self._was_alive = False
        """Whether the last connection brought anything, if only a heartbeat."""

    def _headers(self) -> dict[str, str]:
        """Where to go on."""
        return {}

    def _take(self, frame: Frame) -> AsyncGenerator[T, None]:
        """What it stands for."""
        raise NotImplementedError

    def _lost(self, attempts: int, problem: str) -> StreamBroken:
        return StreamBroken(f"the stream broke, and {attempts} attempts: {problem}")

    async def __aiter__(self) -> AsyncGenerator[T, None]:
        failures = 0
        while True:
            problem = "the server ended the stream"
            try:
                async with aclosing(self._connection()) as found:
                    async for one in found:
                        yield one
            except ApiError as error:
                if not error.is_passing:
                    raise
                problem = error.message
            except Unreachable as error:
                problem = str(error)
            failures = 1 if self._was_alive else failures + 1
            if failures > self._attempts_max:
                raise self._lost(failures, problem)
            wait_s = WAITS_S[min(failures, len(WAITS_S)) - 1]
            await self._sleep(max(wait_s, self._retry_s or 0.0))

    async def _connection(self) -> AsyncGenerator[T, None]:
        parser = SseParser(_EVENT_BYTES_MAX)
        self._retry_s, self._was_alive = None, False
        headers = {"Accept": "text/event-stream", **self._headers()}
        async with aclosing(self._http.pieces(*self._path, headers=headers)) as pieces:
            async for piece in pieces:
                self._was_alive = True
                for frame in parser.feed(piece):
                    async with aclosing(self._take(frame)) as found:
                        async for one in found:
                            yield one
                if parser.retry_ms is not None:
                    self._retry_s = min(parser.retry_ms / 1000, WAITS_S[-1])
