"""When a newer line takes over: at once, unless two programs keep replacing each other."""

import pytest

from trunkline.control.edges.agp.handover import Handover


class _Pair:
    """Two programs with one `guid`: who is replaced comes back after a while."""

    def __init__(self, back_s: float = 3.0) -> None:
        self.now_s = 1000.0
        self.handover = Handover()
        self._back_s = back_s

    def replaces(self, *, is_alive: bool = True) -> float:
        """The one that is out comes back; after how long it takes over."""
        self.now_s += self._back_s
        came_s = self.now_s
        takes_over = self.handover.comes(self.now_s)
        heard_s = came_s + 0.1 if is_alive else came_s - 5
        while not takes_over:
            self.now_s += 1.0
            takes_over = self.handover.is_due(self.now_s, heard_s)
        self.handover.took_over(self.now_s)
        return self.now_s - came_s


@pytest.mark.proves("notes-4-two-programs")
def test_the_newest_always_wins_and_a_pair_that_goes_on_waits_longer_each_time() -> None:
    pair = _Pair()
    assert [pair.replaces() for _ in range(10)] == [0, 0, 2, 4, 8, 16, 32, 60, 60, 60]
    assert pair.handover.is_contested


def test_a_device_that_is_replaced_now_and_then_never_waits() -> None:
    pair = _Pair(back_s=61.0)
    assert [pair.replaces() for _ in range(10)] == [0] * 10
    assert not pair.handover.is_contested


def test_nobody_waits_long_for_a_line_that_is_open_and_dead() -> None:
    pair = _Pair()
    assert [pair.replaces(is_alive=False) for _ in range(6)] == [0, 0, 2, 4, 5, 5]


def test_a_still_newer_one_waits_for_the_rest_of_the_time() -> None:
    pair = _Pair()
    for _ in range(6):
        pair.replaces()
    start_s = pair.now_s
    assert not pair.handover.comes(start_s)
    assert not pair.handover.comes(start_s + 31)
    assert not pair.handover.is_due(start_s + 31.9, start_s + 1)
    assert pair.handover.is_due(start_s + 32, start_s + 1)
    # Nobody was there when the time was up: who comes then need not wait.
    assert pair.handover.comes(start_s + 33)


def test_a_contest_is_over_when_nobody_came_for_a_while() -> None:
    pair = _Pair()
    for _ in range(4):
        pair.replaces()
    assert not pair.handover.calms(pair.now_s + 60)
    assert pair.handover.calms(pair.now_s + 61)
    assert not pair.handover.calms(pair.now_s + 62)  # said once
    assert not pair.handover.is_contested
    pair.now_s += 61
    assert pair.replaces() == 0
