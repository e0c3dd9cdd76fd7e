"""A log's store in memory whose commits wait until the test lets them through, and may fail."""

import asyncio
import errno

from trunkline.control.log.store import Head, Logged, Segment, Stored


class GatedStore:
    def __init__(self) -> None:
        self.committed: list[Segment] = []
        self.known: dict[str, Head] = {}
        self.calls = 0
        self.gate = asyncio.Semaphore(0)
        self.failures = 0
        self.called = asyncio.Event()
        self._changed = asyncio.Condition()

    def free(self) -> None:
        """Lets everything through from now on."""
        for _ in range(10_000):
            self.gate.release()

    async def commits(self, count: int) -> None:
        """Waits until that many commits were begun."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.calls >= count)

    async def append(self, segments: list[Segment], *, again: bool = False) -> None:
        self.calls += 1
        self.called.set()
        async with self._changed:
            self._changed.notify_all()
        await self.gate.acquire()
        if self.failures:
            self.failures -= 1
            raise OSError(errno.ENOSPC, "no room")
        self.committed += segments

    async def heads(self, session_ids: list[str]) -> dict[str, Head]:
        return {one: self.known[one] for one in session_ids if one in self.known}

    async def read(self, session_id: str, after: int, limit: int) -> list[tuple[int, str]]:
        return []

    async def entries(self, session_id: str, after_id: int, after_note: int) -> list[Logged]:
        return []

    async def read_back(self, session_id: str, before: int, limit: int) -> list[tuple[int, str]]:
        return []

    async def cut(self, session_id: str, upto: int) -> int:
        return 1

    async def skip(self, gap: int, session_ids: list[str] | None = None) -> None:
        return

    async def delete(self, session_id: str) -> None:
        return

    async def sizes(self, session_ids: list[str] | None = None) -> dict[str, int]:
        return {}

    async def front(self, session_id: str, limit: int) -> list[Stored]:
        return []

    async def fold(self, *, all: bool = False) -> None:  # noqa: A002
        return

    async def close(self) -> None:
        return
