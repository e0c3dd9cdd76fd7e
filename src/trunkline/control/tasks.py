"""Background work that nobody awaits: kept alive, its failures logged, ended at shutdown."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any

import structlog

_log = structlog.get_logger(__name__)


class Tasks:
    """A set of running tasks with one owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("background work failed", task=task.get_name(), exc_info=error)

    def __len__(self) -> int:
        return len(self._tasks)

    async def done(self) -> None:
        """Waits for what runs now and what that starts."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def cancel(self) -> None:
        """Ends what runs now, and what that starts while it ends."""
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)


class Serial:
    """Runs coroutines one after the other, in the order in which they were given."""

    __slots__ = ("_running", "_tasks", "_waiting")

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._waiting: deque[Coroutine[Any, Any, Any]] = deque()
        self._running = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        self._waiting.append(work)
        if not self._running:
            self._running = True
            self._tasks.spawn(self._run(), name)

    async def _run(self) -> None:
        try:
            while self._waiting:
                try:
                    await self._waiting.popleft()
                except Exception:
                    _log.exception("background work failed")
        finally:
            self._running = False
