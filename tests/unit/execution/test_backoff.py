"""How long a machine waits for its line."""

from collections.abc import Callable

import pytest

from trunkline import limits
from trunkline.execution.backoff import Backoff
from trunkline.execution.ws.login import RECONNECT_JITTER


def line_backoff(random: Callable[[], float]) -> Backoff:
    return Backoff(limits.RECONNECT_DELAYS_S, jitter=RECONNECT_JITTER, random=random)


@pytest.mark.proves("000-6-back-off", "004-3.1-reconnect-delays", "004-3.1-reconnects-for-ever")
def test_delays_are_the_documented_ones_and_then_the_last_for_ever() -> None:
    backoff = line_backoff(lambda: 0.5)
    assert [backoff.next_s() for _ in range(11)] == [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30]


@pytest.mark.proves("004-3.1-reconnect-delays")
def test_chance_moves_a_delay_by_a_fifth_either_way() -> None:
    assert line_backoff(lambda: 0.0).next_s() == 0.8
    assert line_backoff(lambda: 1.0).next_s() == 1.2


def test_it_is_exhausted_after_the_eight_documented_delays() -> None:
    backoff = line_backoff(lambda: 0.5)
    for _ in range(8):
        assert not backoff.is_exhausted
        backoff.next_s()
    assert backoff.is_exhausted


def test_a_line_that_was_up_starts_the_delays_again() -> None:
    backoff = line_backoff(lambda: 0.5)
    for _ in range(9):
        backoff.next_s()
    backoff.reset()
    assert not backoff.is_exhausted
    assert backoff.next_s() == 1


def test_a_longer_delay_can_be_asked_for_and_counts() -> None:
    backoff = line_backoff(lambda: 0.5)
    assert backoff.next_s(60) == 60
    assert backoff.next_s() == 2
