"""How the server has done in the last minute, second by second: what an operator watches.

Sampled by the server's sweep; nothing here is on the way of an event.
"""

import time
from collections import deque
from typing import Protocol

import msgspec

from trunkline.control.clock import Clock, Seconds
from trunkline.control.metrics import Metrics
from trunkline.control.signals import Signals

KEPT = 60


class Counted(Protocol):
    """The log, as far as it is looked at."""

    events_total: int


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One second, until `at` (Unix ms). `events_per_s`: written to session logs. `commit_ms`: the
    slowest commit; null where there was none. `loop_lag_ms`: how late the event loop ran."""

    at: int
    events_per_s: float
    commit_ms: float | None
    loop_lag_ms: float


class Pulse:
    def __init__(
        self,
        log: Counted,
        metrics: Metrics,
        signals: Signals,
        clock: Clock,
        now: Seconds = time.monotonic,
    ) -> None:
        self.started_at = clock()
        self.stalls = 0
        """How often the log could not be written for a while."""
        self.samples: deque[Sample] = deque(maxlen=KEPT)
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._now = now
        self._sampled_at = now()
        self._events = log.events_total
        self._commit_s: float | None = None
        self._is_stalled = False
        signals.commits.watch(self._committed)
        signals.stalls.watch(self._stalled)

    def sweep(self) -> None:
        """Once a second."""
        now, events = self._now(), self._log.events_total
        passed_s = max(now - self._sampled_at, 0.001)
        sample = Sample(
            at=self._clock(),
            events_per_s=round((events - self._events) / passed_s, 1),
            commit_ms=None if self._commit_s is None else round(self._commit_s * 1000, 2),
            loop_lag_ms=round(self._metrics.lag_s * 1000, 2),
        )
        self._sampled_at, self._events, self._commit_s = now, events, None
        self.samples.append(sample)

    def _committed(self, seconds: float) -> None:
        self._commit_s = max(seconds, self._commit_s or 0.0)

    def _stalled(self, cause: str | None) -> None:
        self.stalls += cause is not None and not self._is_stalled
        self._is_stalled = cause is not None
