"""What an operator sees of the last minute."""

from tests.support.clock import FakeClock
from trunkline.control.metrics import Metrics
from trunkline.control.pulse import KEPT, Pulse
from trunkline.control.signals import Signals


class FakeLog:
    """As much of the log as is looked at."""

    def __init__(self) -> None:
        self.events_total = 5


def test_each_second_has_its_rate_its_slowest_commit_and_its_lag() -> None:
    signals = Signals()
    log, metrics, clock = FakeLog(), Metrics(signals), FakeClock(1_000)
    seconds = [10.0]
    pulse = Pulse(log, metrics, signals, clock, lambda: seconds[0])
    log.events_total += 100
    for took_s in (0.002, 0.03, 0.001):
        signals.commits.tell(took_s)
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
    signals = Signals()
    pulse = Pulse(FakeLog(), Metrics(signals), signals, FakeClock())
    for cause in ("slow disk", "disk full", None, None, "disk full"):
        signals.stalls.tell(cause)
    assert pulse.stalls == 2
