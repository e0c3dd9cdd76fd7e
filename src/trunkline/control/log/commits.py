"""Commits of the log, however long they take: what is not on disk is not delivered.

A full disk or a lost database heals or is healed. Until then events wait in memory, machines are
not read, and whoever watches knows why.
"""

import asyncio
import time
from pathlib import Path

import structlog

from trunkline.control.log.store import Segment, SegmentStore
from trunkline.control.store import causes
from trunkline.control.tuning import Tuning
from trunkline.control.watchers import Watchers

_log = structlog.get_logger(__name__)


class Commits:
    """One after the other. `folder`: where the store's files are, if they are here."""

    def __init__(
        self,
        store: SegmentStore,
        tuning: Tuning,
        folder: Path | None,
        done: Watchers[float],
        stalls: Watchers[str | None],
    ) -> None:
        self._store = store
        self._stall_s, self._retry_s = tuning.stall_s, tuning.retry_s
        self._folder = folder
        self.stalled: str | None = None
        self._done = done
        self._stalls = stalls

    async def write(self, segments: list[Segment]) -> None:
        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        slow = loop.call_later(self._stall_s, self._stall, causes.SLOW_DISK)
        try:
            await self._store.append(segments)
        except Exception as error:
            slow.cancel()
            await self._write_again(segments, error)
        slow.cancel()
        took_s = time.perf_counter() - started
        if self.stalled is not None:
            _log.warning("the log is written again", after_s=round(took_s, 1))
            self._stall(None)
        self._done.tell(took_s)

    async def _write_again(self, segments: list[Segment], error: Exception) -> None:
        """Said once for each cause: the log of this process may be on the same disk."""
        while True:
            cause = causes.cause_of(error, self._folder) or causes.FAILED
            if cause != self.stalled:
                trace = error if cause == causes.FAILED else None
                said = f"{type(error).__name__}: {error}"
                _log.error("the log cannot be written", cause=cause, error=said, exc_info=trace)
                self._stall(cause)
            await asyncio.sleep(self._retry_s)
            try:
                await self._store.append(segments, again=True)
                return
            except Exception as another:
                error = another

    def _stall(self, cause: str | None) -> None:
        self.stalled = cause
        self._stalls.tell(cause)
