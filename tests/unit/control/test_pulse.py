"""What an operator sees of the last minute."""

from collections.abc import Callable

from tests.support.clock import FakeClock
from trunkline.control.metrics import Metrics
from trunkline.control.pulse import KEPT, Pulse


class FakeLog:
    """As much of the log as is watched."""

    def __init__(self) -> None:
        self.events_total = 5
        self.committed: Callable[[float], None] = lambda _: None
        self.stalled: Callable[[str | None], None] = lambda _: None

    def watch_commits(self, watcher: Callable[[float], None]) -> None:
        self.committed = watcher

    def watch_stalls(self, watcher: Callable[[str | None], None]) -> None:
        self.stalled = watcher


def test_each_second_has_its_rate_its_slowest_commit_and_its_lag() -> None:
    log, metrics, clock = FakeLog(), Metrics(), FakeClock(1_000)
    seconds = [10.0]
    pulse = Pulse(log, metrics, clock, lambda: seconds[0])
    log.events_total += 100
    for took_s in (0.002, 0.03, 0.001):
        log.committed(took_s)
    metrics.lag_s = 0.004
    seconds[0] += 2
    pulse.sweep()
    seconds[0] += 1
    pulse.sweep()
    busy, idle = pulse.samples
    assert (busy.events_per_s, busy.commit_ms, busy.loop_lag_ms) == (50.0, 30.0, 4.0)
    assert (idle.events_per_s, idle.commit_ms) == (0.0, None)
    for _ in range(2 * KEPT):
        pulse.sweep()
    assert len(pulse.samples) == KEPT


def test_a_stall_counts_once_however_often_it_is_said() -> None:
    log = FakeLog()
    pulse = Pulse(log, Metrics(), FakeClock())
    for cause in ("slow disk", "disk full", None, None, "disk full"):
        log.stalled(cause)
    assert pulse.stalls == 2
