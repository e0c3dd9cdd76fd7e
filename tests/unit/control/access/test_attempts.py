"""Logins of one address, and under one name: a few at once, then slower and slower."""

import pytest

from tests.support.clock import FakeClock
from trunkline.control.access.attempts import Attempts
from trunkline.control.errors import LimitReached


def tries(attempts: Attempts, address: str, name: str | None = None) -> int:
    """How many in a row are let through; without a name, each is under another."""
    count = 0
    while True:
        try:
            attempts.begin(address, name or f"{address} {count}")
        except LimitReached:
            return count
        count += 1


def guesses(attempts: Attempts, name: str, addresses: int = 1_000) -> int:
    """How many in a row are let through under that name, each from another address."""
    for count in range(addresses):
        try:
            attempts.begin(f"{name} {count}", name)
        except LimitReached:
            return count
    return addresses


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


def test_other_addresses_do_not_wait_and_old_failures_are_forgotten(clock: FakeClock) -> None:
    attempts = Attempts(clock)
    tries(attempts, "a")
    assert tries(attempts, "b") == 5
    clock.advance(16 * 60)
    assert tries(attempts, "b") == 5


def test_a_login_takes_back_its_own_try_and_no_failure(clock: FakeClock) -> None:
    attempts = Attempts(clock)
    for _ in range(20):
        attempts.begin("home", "ada")
        attempts.succeeded("home", "ada")
    assert tries(attempts, "home") == 5, "whoever gets it right never waits"
    for _ in range(4):
        attempts.begin("a", "ada")
    attempts.begin("a", "eve")
    attempts.succeeded("a", "eve")
    assert tries(attempts, "a", "ada") == 1


def test_many_addresses_that_guess_at_one_name_wait_but_never_for_long(clock: FakeClock) -> None:
    attempts = Attempts(clock)
    assert guesses(attempts, "ada") == 20
    assert tries(attempts, "new", "bob") == 5, "another name is not held up"
    for number, wait_s in enumerate((1, 2, 4, 8, 10, 10, 10)):
        clock.advance(wait_s - 0.1)
        assert tries(attempts, f"new {number}", "ada") == 0
        clock.advance(0.1)
        assert tries(attempts, f"new {number}", "ada") == 1


def test_where_somebody_has_logged_in_others_cannot_lock_them_out(clock: FakeClock) -> None:
    attempts = Attempts(clock)
    attempts.begin("home", "ada")
    attempts.succeeded("home", "ada")
    guesses(attempts, "ada")
    attempts.begin("home", "ada")
    attempts.succeeded("home", "ada")
    assert tries(attempts, "home", "ada") == 5, "it is slowed by its own failures as ever"
    with pytest.raises(LimitReached):
        attempts.begin("elsewhere", "ada")


def test_so_many_addresses_push_each_other_out_and_take_no_more_room(clock: FakeClock) -> None:
    attempts = Attempts(clock)
    tries(attempts, "a")
    for number in range(10_000):
        attempts.begin(str(number), str(number))
    assert tries(attempts, "a") == 5
    with pytest.raises(LimitReached):
        attempts.begin("a", "name")


def test_where_nobody_can_guess_a_crowd_of_strangers_keeps_nobody_out(clock: FakeClock) -> None:
    """Join codes: only whoever guesses waits."""
    attempts = Attempts(clock)
    for number in range(1_000):
        attempts.begin(f"stranger {number}")
    attempts.begin("home")
    attempts.succeeded("home")
    assert tries(attempts, "home") == 5
