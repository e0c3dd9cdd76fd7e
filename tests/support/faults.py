"""The stores of a control plane in a test, which can be made slow, full or broken.

Both are the real ones behind a gate: nothing is different until a test says so.
"""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.log.store import Head, Logged, Segment, SegmentStore, Stored
from trunkline.control.store.engine import Store

Before = Callable[[], Awaitable[object]]


async def broken() -> None:
    raise OSError("disk I/O error")


class Writes:
    """Every write of both stores, one after the other. Those with certain numbers find the disk
    full: alone, or with all behind them until there is room."""

    def __init__(self) -> None:
        self.failed = 0
        self.is_full = False
        self._left: int | None = None
        self._every = 0
        self._is_once = True

    def fail(self, first: int, every: int, *, once: bool) -> None:
        """The write with that number, counted from now, and then again and again."""
        self._left, self._every, self._is_once = first, every, once
        self.failed, self.is_full = 0, False

    def free(self) -> None:
        """There is room, until it is time to fail again."""
        self.is_full = False

    def heal(self) -> None:
        self._left, self.is_full = None, False

    def next(self) -> None:
        if not self.is_full:
            if self._left is None:
                return
            self._left -= 1
            if self._left >= 0:
                return
            self._left = self._every - 1
            self.is_full = not self._is_once
        self.failed += 1
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Disk:
    """The log's store."""

    def __init__(self, store: SegmentStore, writes: Writes) -> None:
        self._store = store
        self._writes = writes
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
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._writes.next()
        await self._store.append(segments, again=again)
        self._writes.next()  # it is on disk, and whoever wrote it is not told so

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

    async def read_back(self, session_id: str, before: int, limit: int) -> list[tuple[int, str]]:
        await self._turning()
        if self._is_unreadable:
            raise OSError("disk I/O error")
        return await self._store.read_back(session_id, before, limit)

    async def cut(self, session_id: str, upto: int) -> int:
        return await self._store.cut(session_id, upto)

    async def skip(self, gap: int, session_ids: list[str] | None = None) -> None:
        await self._store.skip(gap, session_ids)

    async def delete(self, session_id: str) -> None:
        await self._store.delete(session_id)

    async def sizes(self, session_ids: list[str] | None = None) -> dict[str, int]:
        return await self._store.sizes(session_ids)

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        return await self._store.front(session_id, limit)

    async def fold(self, *, all: bool = False) -> None:  # noqa: A002
        await self._store.fold(all=all)

    async def close(self) -> None:
        await self._store.close()


class RecordStore(Store):
    """The records' store: `before` steps in between the control plane and one table."""

    writes = Writes()
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
            self.writes.next()  # the commit

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
