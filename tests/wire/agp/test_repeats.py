"""Ids that were seen: known when they come again, forgotten when there are too many."""

from trunkline.wire.agp.repeats import Repeats


def test_an_id_is_new_once() -> None:
    repeats = Repeats(10)
    assert repeats.is_new("a")
    assert not repeats.is_new("a")
    assert repeats.is_new("b")


def test_the_oldest_is_forgotten_for_a_new_one() -> None:
    repeats = Repeats(3)
    for number in range(1000):
        assert repeats.is_new(str(number))
        assert len(repeats) <= 3
    assert not repeats.is_new("999")
    assert not repeats.is_new("997")
    assert repeats.is_new("996")
