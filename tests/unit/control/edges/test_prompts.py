"""One turn at a time per session: what is sent now, and what waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.control.edges.prompts import Prompts
from trunkline.control.errors import LimitReached
from trunkline.control.machines.commands import Say
from trunkline.control.machines.outbox import size_of


def said(turn_id: str, session_id: str = "s") -> Say:
    return Say(session_id, turn_id, f"message {turn_id}", [], {})


def test_the_first_is_sent_and_the_rest_follows_in_its_order() -> None:
    prompts = Prompts()
    assert prompts.add(said("1")) == said("1")
    assert prompts.add(said("2")) is None
    assert prompts.add(said("3")) is None
    assert prompts.current("s") == said("1")
    assert prompts.ended("s", "1") == said("2")
    assert prompts.ended("s", "2") == said("3")
    assert prompts.ended("s", "3") is None
    assert prompts.current("s") is None


def test_sessions_do_not_wait_for_each_other() -> None:
    prompts = Prompts()
    assert prompts.add(said("1", "a")) is not None
    assert prompts.add(said("2", "b")) is not None
    assert [one.turn_id for one in prompts.at_work()] == ["1", "2"]


def test_what_is_at_work_and_comes_again_is_sent_again_and_what_waits_keeps_its_place() -> None:
    prompts = Prompts()
    prompts.add(said("1"))
    prompts.add(said("2"))
    prompts.add(said("3"))
    assert prompts.add(said("1")) == said("1")
    assert prompts.add(said("2")) is None
    assert [one.turn_id for one in prompts.waiting("s")] == ["2", "3"]


def test_an_end_of_what_is_not_at_work_sends_nothing() -> None:
    prompts = Prompts()
    for turn_id in "123":
        prompts.add(said(turn_id))
    assert prompts.ended("s", "2") is None
    assert prompts.ended("s", "unknown") is None
    assert prompts.ended("nowhere", "1") is None
    assert prompts.ended("s", "1") == said("3")


def test_only_what_waits_can_be_taken_back() -> None:
    prompts = Prompts()
    prompts.add(said("1"))
    prompts.add(said("2"))
    assert not prompts.withdraw("1")
    assert prompts.withdraw("2")
    assert not prompts.withdraw("2")
    assert prompts.ended("s", "1") is None


def test_what_waits_has_a_bound_and_what_is_known_does_not_count_twice() -> None:
    prompts = Prompts(waiting_max=2)
    for turn_id in "123":
        prompts.add(said(turn_id))
    with pytest.raises(LimitReached) as full:
        prompts.add(said("4"))
    assert full.value.code == "SESSION_BUSY"
    assert prompts.add(said("3")) is None
    assert prompts.add(said("1", "other")) is not None


def large(turn_id: str, session_id: str = "s") -> Say:
    return Say(session_id, turn_id, "x" * 1_000_000, [], {})


def test_what_waits_in_all_sessions_has_a_bound_in_bytes_too() -> None:
    prompts = Prompts(waiting_bytes_max=2_000_000 + 2 * size_of(said("1")))
    assert prompts.add(large("1", "a")) is not None
    assert prompts.add(large("2", "b")) is not None  # what is at work does not wait
    prompts.add(large("3", "a"))
    prompts.add(large("4", "b"))
    for session_id in "ab":
        with pytest.raises(LimitReached) as full:
            prompts.add(said("5", session_id))
        assert full.value.code == "MACHINE_BUSY"
    assert prompts.add(large("4", "b")) is None  # it waits already
    assert [one.turn_id for one in prompts.waiting()] == ["3", "4"]


@pytest.mark.parametrize("way", ["ended", "withdrawn", "dropped"])
def test_what_waits_no_more_makes_room(way: str) -> None:
    prompts = Prompts(waiting_bytes_max=1_500_000)
    prompts.add(said("1"))
    for round_ in range(3):
        now, waits = prompts.current("s"), f"waits-{round_}"
        assert now is not None
        prompts.add(large(waits))
        if way == "ended":
            assert prompts.ended("s", now.turn_id) == large(waits)
        elif way == "withdrawn":
            assert prompts.withdraw(waits)
        else:
            prompts.drop("s")
            prompts.add(said("1"))
    assert prompts.add(large("last")) is None


def test_a_session_can_be_forgotten() -> None:
    prompts = Prompts()
    prompts.add(said("1"))
    prompts.add(said("2"))
    assert [one.turn_id for one in prompts.drop("s")] == ["1", "2"]
    assert prompts.is_empty
    assert prompts.drop("s") == []
    assert prompts.add(said("3")) == said("3")
    assert not prompts.is_empty


_TURNS = st.sampled_from("abcdef")
_STEPS = st.lists(st.tuples(st.sampled_from(["add", "ended", "withdraw"]), _TURNS), max_size=60)


@given(_STEPS)
def test_never_two_at_once_and_nothing_is_lost(steps: list[tuple[str, str]]) -> None:
    """Against a list, which is what a queue is."""
    prompts = Prompts()
    queue: list[str] = []
    for step, turn_id in steps:
        if step == "add":
            sent = prompts.add(said(turn_id))
            if turn_id not in queue:
                queue.append(turn_id)
            assert (sent is not None) == (queue[0] == turn_id)
        elif step == "withdraw":
            is_waiting = turn_id in queue[1:]
            assert prompts.withdraw(turn_id) == is_waiting
            if is_waiting:
                queue.remove(turn_id)
        else:
            was_first = queue[:1] == [turn_id]
            following = prompts.ended("s", turn_id)
            if turn_id in queue:
                queue.remove(turn_id)
            wanted = queue[0] if was_first and queue else None
            assert (following.turn_id if following else None) == wanted
        current = prompts.current("s")
        assert ([current.turn_id] if current else []) == queue[:1]
        assert [one.turn_id for one in prompts.waiting("s")] == queue[1:]
