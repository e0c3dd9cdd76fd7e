"""Logins of one address: a few at once, then slower and slower."""

import pytest

from tests.support.clock import FakeClock
from trunkline.control.access.attempts import Attempts
from trunkline.control.errors import LimitReached


def tries(attempts: Attempts, address: str) -> int:
    """How many in a row are let through."""
    count = 0
    while True:
        try:
            attempts.begin(address)
        except LimitReached:
            return count
        count += 1


def test_after_five_an_address_has_to_wait_twice_as_long_each_time(clock: FakeClock) -> None:
    attempts = Attempts(clock)
    assert tries(attempts, "a") == 5
    for wait_s in (1, 2, 4, 8):
        clock.advance(wait_s - 0.1)
        assert tries(attempts, "a") == 0
        clock.advance(0.1)
        assert tries(attempts, "a") == 1
    for _ in range(30):
        clock.advance(300)
        assert tries(attempts, "a") == 1, "no wait is longer than five minutes"


def test_other_addresses_do_not_wait_and_a_success_clears(clock: FakeClock) -> None:
    attempts = Attempts(clock)
    tries(attempts, "a")
    assert tries(attempts, "b") == 5
    attempts.succeeded("a")
    assert tries(attempts, "a") == 5
    clock.advance(16 * 60)
    assert tries(attempts, "b") == 5, "an old failure is forgotten"


def test_so_many_addresses_push_each_other_out_and_take_no_more_room(clock: FakeClock) -> None:
    attempts = Attempts(clock)
    tries(attempts, "a")
    for number in range(10_000):
        attempts.begin(str(number))
    assert tries(attempts, "a") == 5
    with pytest.raises(LimitReached):
        attempts.begin("a")
