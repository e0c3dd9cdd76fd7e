"""Files that wait for their message: whose they are, how many, how long."""

import pytest

from tests.support.clock import FakeClock
from trunkline.control.errors import LimitReached, NotFound, TooLarge
from trunkline.control.services.uploads import BYTES_MAX, Upload, Uploads


def file(size: int = 1) -> Upload:
    return Upload("a.txt", "text/plain", b"x" * size)


def test_a_file_is_its_uploaders_until_a_message_took_it(clock: FakeClock) -> None:
    uploads = Uploads(clock)
    first, second = uploads.add("ann", [file(1), file(2)])
    assert len(uploads.get("ann", second).content) == 2
    with pytest.raises(NotFound):
        uploads.get("bob", first)
    uploads.remove("bob", [first])
    assert uploads.get("ann", first), "nobody else's message takes it"
    uploads.remove("ann", [first])
    with pytest.raises(NotFound):
        uploads.get("ann", first)
    assert uploads.get("ann", second)


def test_a_file_is_kept_for_ten_minutes(clock: FakeClock) -> None:
    uploads = Uploads(clock)
    (file_id,) = uploads.add("ann", [file()])
    clock.advance(600)
    assert uploads.get("ann", file_id)
    clock.advance(1)
    with pytest.raises(NotFound):
        uploads.get("ann", file_id)


def test_each_and_all_have_bounds_and_what_does_not_fit_leaves_nothing(clock: FakeClock) -> None:
    with pytest.raises(TooLarge):
        Uploads(clock).add("ann", [file(BYTES_MAX + 1)])
    few = Uploads(clock, per_user_max=2)
    few.add("ann", [file()])
    with pytest.raises(LimitReached):
        few.add("ann", [file(), file()])
    few.add("ann", [file()])
    few.add("bob", [file()])
    small = Uploads(clock, per_user_bytes_max=10, bytes_max=15)
    small.add("ann", [file(8)])
    with pytest.raises(LimitReached):
        small.add("ann", [file(3)])
    with pytest.raises(LimitReached):
        small.add("bob", [file(8)])
    clock.advance(601)
    small.add("bob", [file(8)])
