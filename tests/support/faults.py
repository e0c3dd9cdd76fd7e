"""The stores of a control plane in a test, which can be made slow, full or broken.

Both are the real ones behind a gate: nothing is different until a test says so.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.log.segments import Head, Logged, Segment, SegmentStore
from trunkline.control.store.engine import Store

Before = Callable[[], Awaitable[object]]


async def broken() -> None:
    raise OSError("disk I/O error")


class Disk:
    """The log's store."""

    def __init__(self, store: SegmentStore) -> None:
        self._store = store
        self._turns = asyncio.Event()
        self._turns.set()
        self.is_full = False
        """Nothing can be written."""
        self._is_unreadable = False
        self.reached = asyncio.Event()
        """Somebody waits for a disk that does not turn."""

    def stop(self) -> None:
        """Whoever wants something of it waits."""
        self._turns.clear()
        self.reached.clear()

    def heal(self) -> None:
        self.is_full = False
        self._turns.set()

    @contextmanager
    def unreadable(self) -> Iterator[None]:
        self._is_unreadable = True
        try:
            yield
        finally:
            self._is_unreadable = False

    async def _turning(self) -> None:
        if not self._turns.is_set():
            self.reached.set()
            await self._turns.wait()

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        await self._turning()
        if self.is_full:
            raise OSError("disk full")
        await self._store.append(segments, again=again)

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        await self._turning()
        if self._is_unreadable:
            raise OSError("disk I/O error")
        return await self._store.heads(session_ids)

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        await self._turning()
        if self._is_unreadable:
            raise OSError("disk I/O error")
        return await self._store.read(session_id, after, limit)

    async def entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        await self._turning()
        return await self._store.entries(session_id, after_id, after_note)

    async def delete(self, session_id: str) -> None:
        await self._store.delete(session_id)

    async def close(self) -> None:
        await self._store.close()


class RecordStore(Store):
    """The records' store: `before` steps in between the control plane and one table."""

    _steps: tuple[tuple[str, Before], ...] = ()

    @contextmanager
    def before(self, words: str, step: Before) -> Iterator[None]:
        """Inside of it, `step` comes before each statement that has these words."""
        mine = words, step
        self._steps = (*self._steps, mine)
        try:
            yield
        finally:
            self._steps = tuple(one for one in self._steps if one is not mine)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        async with super().read() as connection:
            yield self._watched(connection)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        async with super().write() as connection:
            yield self._watched(connection)

    def _watched(self, connection: AsyncConnection) -> AsyncConnection:
        if not self._steps:
            return connection
        return cast(AsyncConnection, _Watched(connection, self._steps))


class _Watched:
    def __init__(self, connection: AsyncConnection, steps: tuple[tuple[str, Before], ...]) -> None:
        self._connection = connection
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._connection, name)
        if name not in ("execute", "scalar", "scalars"):
            return real

        async def call(statement: Any, *more: Any, **options: Any) -> Any:
            for words, step in self._steps:
                if words in str(statement):
                    await step()
            return await real(statement, *more, **options)

        return call
