"""A group's turn: what it knows is what the log says, now and after a restart; and the guard
against persons that keep each other talking."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.clock import FakeClock
from trunkline import limits
from trunkline.control.groups.round import Guard, Round


class Named:
    def __init__(self, name: str) -> None:
        self.id = f"id-of-{name}"
        self.name = name


PERSONS = [Named("alice"), Named("bob"), Named("carol")]


def turn(**metadata: Any) -> Round:
    return Round("t1", "hello", metadata, PERSONS)


def start(round_: Round, *names: str, depth: int = 0, cause: int | None = None) -> list[Any]:
    asked = None if cause is None else round_.asks[cause]
    events = list(round_.starts([f"id-of-{name}" for name in names], depth, asked))
    return [{**event, "turn_id": "t1"} for event in events]


def event(kind: str, ask: int, **fields: Any) -> dict[str, Any]:
    group = {"ask": ask, "session_id": "s", "event_id": 3}
    return {"type": kind, "turn_id": "t1", "group": group, **fields}


def after(*events: dict[str, Any]) -> Round:
    round_ = turn()
    for one in [*start(round_, "alice", "bob"), *events]:
        round_.apply(one)
    return round_


def test_a_turn_is_over_when_everybody_is_done() -> None:
    round_ = after(event("person_complete", 1, content="hi"))
    assert [ask.name for ask in round_.open()] == ["bob"]
    round_.apply(event("person_error", 2, error="no machine"))
    assert round_.is_over
    end = {"type": "execution_complete", "content": "alice: hi\n\nbob did not answer: no machine"}
    assert round_.end() == end


def test_only_a_turn_in_which_nobody_answered_is_an_error() -> None:
    round_ = after(event("person_error", 1, error="a"), event("person_error", 2, error="b"))
    assert round_.end() == {
        "type": "execution_error",
        "error": "nobody answered: alice: a; bob: b",
        "code": "GROUP_FAILED",
    }


def test_a_cancelled_turn_ends_as_cancelled_whoever_failed() -> None:
    round_ = after(event("person_error", 1, error="a"), event("person_error", 2, error="b"))
    round_.apply({"type": "thinking", "turn_id": "t1", "group": {"cancelling": True}})
    assert round_.end()["cancelled"] is True


def test_an_answer_set_off_by_another_is_told_from_its_author() -> None:
    round_ = after(event("person_complete", 1, content="@carol?"))
    for one in start(round_, "carol", depth=1, cause=1):
        round_.apply(one)
    ask = round_.asks[3]
    assert (ask.depth, ask.cause) == (1, 1)
    assert round_.message_for(ask) == ("alice", "@carol?")
    assert round_.message_for(round_.asks[1]) == ("user", "hello")
    assert round_.key(ask) == "t1:3"


def test_attachments_are_given_to_everybody_once() -> None:
    round_ = turn(attachments=["file"])
    for one in [*start(round_, "alice"), event("person_complete", 1, content="x")]:
        round_.apply(one)
    for one in start(round_, "alice", "bob", depth=1, cause=1):
        round_.apply(one)
    given_to = [round_.attachments_for(ask) for ask in round_.asks.values()]
    assert given_to == [["file"], None, ["file"]]


def test_a_question_is_known_until_it_is_settled() -> None:
    asked = event("approval_request", 1, request_id="s.q1")
    asked["group"]["request_id"] = "q1"
    round_ = after(asked)
    question = round_.questions["s.q1"]
    assert (question.session_id, question.request_id) == ("s", "q1")
    assert not question.is_settled
    round_.apply({"type": "approval_resolved", "request_id": "s.q1", "confirmed": True})
    assert question.is_settled


def test_events_of_other_turns_mean_nothing() -> None:
    round_ = after({**event("person_complete", 1, content="x"), "turn_id": "t2"})
    assert len(round_.open()) == 2


def test_the_answers_at_the_end_are_bounded_together() -> None:
    long = "x" * limits.GROUP_ANSWERS_CHARS_MAX
    round_ = after(
        event("person_complete", 1, content=long), event("person_complete", 2, content=long)
    )
    assert len(round_.end()["content"]) < limits.GROUP_ANSWERS_CHARS_MAX + 100


@given(st.lists(st.sampled_from(["text_chunk", "thinking", "usage"]), max_size=20))
def test_the_position_is_that_of_the_newest_event_that_was_copied(kinds: list[str]) -> None:
    round_ = after()
    for number, kind in enumerate(kinds, 1):
        one = event(kind, 2, content="x")
        one["group"]["event_id"] = number
        round_.apply(one)
    assert round_.asks[2].copied_id == len(kinds)
    assert round_.asks[1].copied_id == 0


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
