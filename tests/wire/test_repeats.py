"""Ids that were seen: known when they come again, forgotten when there are too many."""

from trunkline.wire.repeats import Repeats


def test_an_id_is_new_once() -> None:
    repeats = Repeats(10)
    assert repeats.is_new("a")
    assert not repeats.is_new("a")
    assert repeats.is_new("b")


def test_the_newest_are_known_and_the_oldest_forgotten() -> None:
    repeats = Repeats(3)
    for number in range(1000):
        assert repeats.is_new(str(number))
        assert len(repeats) < 6
        newest = range(max(0, number - 2), number + 1)
        assert all(str(one) in repeats for one in newest)
    assert not repeats.is_new("999")
    assert not repeats.is_new("997")
    assert repeats.is_new("990")
