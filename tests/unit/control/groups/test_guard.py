"""The guard against persons that keep each other talking."""

from tests.unit.control.conftest import FakeClock
from trunkline.control.groups.guard import Guard


def test_hits_of_one_person_are_bounded_within_their_window(clock: FakeClock) -> None:
    guard = Guard(clock, depth_max=30, hits_max=3, hits_s=5)
    assert [guard.refusal("alice", 1) for _ in range(3)] == [None] * 3
    assert guard.refusal("alice", 1) == "addressed 3 times within 5 s"
    assert guard.refusal("bob", 1) is None
    clock.advance(4.999)
    assert guard.refusal("alice", 1) is not None
    clock.advance(0.001)
    assert [guard.refusal("alice", 1) for _ in range(3)] == [None] * 3


def test_a_refused_hit_does_not_lengthen_the_wait(clock: FakeClock) -> None:
    guard = Guard(clock, hits_max=1, hits_s=5)
    assert guard.refusal("alice", 1) is None
    clock.advance(4)
    assert guard.refusal("alice", 1) is not None
    clock.advance(1)
    assert guard.refusal("alice", 1) is None


def test_answers_to_answers_have_a_depth(clock: FakeClock) -> None:
    guard = Guard(clock, depth_max=2)
    assert guard.refusal("alice", 2) is None
    assert guard.refusal("alice", 3) == "answers went back and forth 2 times"
