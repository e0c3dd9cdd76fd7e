"""The budget of frames: quick when it is quiet, within the documented limit always."""

import random

import pytest

from tests.support.clock import Clock
from trunkline import limits
from trunkline.execution.ws.uplink import (
    PACE_BURST_FRAMES,
    PACE_FRAMES_PER_S,
    PACE_GAP_S_MIN,
    PACE_RESERVE,
    Pace,
)


def most_in_a_minute(times: list[float]) -> int:
    """The fullest span of sixty seconds."""
    first = most = 0
    for last, time in enumerate(times):
        while times[first] <= time - 60:
            first += 1
        most = max(most, last - first + 1)
    return most


def test_a_quiet_line_takes_a_frame_at_once() -> None:
    pace = Pace(Clock())
    assert pace.wait_s(urgent=False) == 0
    assert pace.take(urgent=False)


@pytest.mark.parametrize("seed", range(5))
def test_no_minute_has_more_frames_than_the_line_allows(seed: int) -> None:
    clock, chance = Clock(), random.Random(seed)
    pace, sent = Pace(clock), []
    while clock.now < 300:
        if chance.random() < 0.001:
            clock.now += chance.uniform(0, 20)  # a pause, after which it is hasty again
        if pace.take(urgent=chance.random() < 0.5):
            sent.append(clock.now)
        clock.now += 0.003
    assert most_in_a_minute(sent) < limits.MESSAGES_PER_MINUTE_MAX


def use_up(pace: Pace, clock: Clock) -> list[float]:
    """Sends whenever it may, until only the reserve is left; the distances between frames."""
    distances = []
    for _ in range(2_000):
        assert pace.take(urgent=False)
        distances.append(pace.wait_s(urgent=False))
        clock.now += distances[-1] + 1e-9
    return distances


def test_the_longer_it_is_busy_the_more_distance_frames_keep() -> None:
    clock = Clock()
    distances = use_up(Pace(clock), clock)
    assert distances[0] == PACE_GAP_S_MIN
    assert distances[200] > distances[50] > distances[0]
    assert distances[-1] == pytest.approx(1 / PACE_FRAMES_PER_S, rel=0.01)


def test_what_is_urgent_finds_a_reserve_that_the_rest_leaves() -> None:
    clock = Clock()
    pace = Pace(clock)
    use_up(pace, clock)
    assert pace.wait_s(urgent=True) == 0
    taken = 0
    while pace.take(urgent=True):
        taken += 1
    assert taken >= PACE_BURST_FRAMES * PACE_RESERVE


def test_the_wait_is_as_long_as_it_says() -> None:
    clock = Clock()
    pace = Pace(clock)
    while pace.take(urgent=False):
        pass
    clock.now += pace.wait_s(urgent=False) + 1e-9
    assert pace.take(urgent=False)


def test_a_machine_that_was_too_fast_becomes_slower_until_it_recovers() -> None:
    clock = Clock()
    pace = Pace(clock)

    def in_ten_minutes() -> int:
        count, end = 0, clock.now + 600
        while clock.now < end:
            count += pace.take(urgent=True)
            clock.now += 0.01
        return count

    usual = in_ten_minutes()
    pace.slow_down()
    assert in_ten_minutes() < usual * 0.6
    for _ in range(20):
        pace.slow_down()
    assert in_ten_minutes() >= 590  # it never stops altogether
    pace.recover()
    assert in_ten_minutes() > usual * 0.9
