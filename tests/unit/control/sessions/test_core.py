"""What becomes of a session's turns and questions: inputs and what is appended, nothing else."""

import json
from typing import Any

import pytest

from trunkline.control.log import events
from trunkline.control.machines.actions import Action, Append, Skip, Time
from trunkline.control.sessions import core as session_core
from trunkline.control.sessions import notes
from trunkline.control.sessions import state as states
from trunkline.control.sessions.core import SessionCore
from trunkline.control.sessions.state import SessionState

Json = dict[str, Any]


class Desk:
    """A session whose actions are kept."""

    def __init__(self) -> None:
        self.out: list[Action] = []
        self.session = SessionCore("s", SessionState("m"), self.out, Time(ms=7))

    @property
    def state(self) -> SessionState:
        return self.session.state

    def taken(self) -> list[Json | notes.Note | str]:
        """What was appended since the last time; a number without an event is "skip"."""
        actions, self.out[:] = self.out[:], []
        found: list[Json | notes.Note | str] = []
        for action in actions:
            if isinstance(action, Skip):
                found.append("skip")
                continue
            assert isinstance(action, Append)
            assert action.session_id == "s"
            if action.is_note:
                found.append(notes.decode(action.text))
            else:
                found.append(json.loads(action.text))
        return found

    def open(self, *turns: str, told: bool = True) -> None:
        for turn in turns:
            self.session.say(turn, {"content": "hi"}, {})
            if told:
                self.session.note(notes.Told(turn))
        self.out.clear()

    def hears(self, kind: str, **fields: Any) -> None:
        line = events.make(kind, 7, **fields)
        event = events.look(line)
        assert event is not None
        self.session.heard(event, line)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def event(kind: str, **fields: Any) -> Json:
    return {"type": kind, "ts": 7, **fields}


def denied(request_id: str) -> Json:
    return event("approval_resolved", request_id=request_id, confirmed=False, reason="turn_ended")


def test_a_message_is_one_event_and_what_else_it_has_is_a_note(desk: Desk) -> None:
    desk.session.say("t", {"content": "hi", "client_message_id": "c"}, {"a": 1})
    said = event("user_message", turn_id="t", content="hi", client_message_id="c")
    assert desk.taken() == [said, notes.Said("t", {"a": 1})]
    assert list(desk.state.turns) == ["t"]


def test_every_append_carries_its_changes_and_the_state_with_it(desk: Desk) -> None:
    desk.session.say("t", {"content": "hi"}, {"a": 1})
    first, second = desk.out
    assert isinstance(first, Append)
    assert isinstance(second, Append)
    assert first.changes == [states.TurnOpened("t", "hi", None)]
    assert second.changes == [states.TurnNoted("t", {"a": 1})]
    assert first.state is second.state is desk.state


def test_what_the_machine_was_not_told_of_is_cancelled_at_once(desk: Desk) -> None:
    desk.open("told")
    desk.open("queued", told=False)
    desk.session.cancel("user_cancelled", is_away=False)
    end = event("execution_complete", turn_id="queued", cancelled=True)
    assert desk.taken() == [end, notes.Cancelling("user_cancelled")]
    assert desk.state.turns["told"].cancel == "user_cancelled"


def test_a_cancel_while_the_machine_is_away_ends_all_and_its_own_end_is_late(desk: Desk) -> None:
    desk.open("told")
    desk.session.cancel("user_cancelled", is_away=True)
    end = event("execution_complete", turn_id="told", cancelled=True)
    assert desk.taken() == [end, notes.Late("told")]


def test_a_question_is_answered_once(desk: Desk) -> None:
    desk.open("t")
    assert not desk.session.answer("q", True, "yes", "ann", {})
    desk.hears("approval_request", request_id="q", turn_id="t")
    desk.taken()
    assert desk.session.answer("q", True, "yes", "ann", {"by": "Ann"})
    resolved = event("approval_resolved", request_id="q", confirmed=True, by="Ann")
    assert desk.taken() == [resolved, notes.Answered("q", "yes", "ann")]
    assert not desk.session.answer("q", False, "no", "bob", {})
    assert desk.taken() == []
    assert desk.state.questions["q"].answer == "yes"


def test_a_close_ends_what_is_open_first_and_once(desk: Desk) -> None:
    desk.open("told")
    desk.open("queued", told=False)
    desk.hears("approval_request", request_id="q", turn_id="told")
    desk.taken()
    desk.session.close("user_closed", duration_ms=5)
    why = {"error": "the session was closed", "code": "SESSION_CLOSED"}
    assert desk.taken() == [
        denied("q"),
        event("execution_error", turn_id="told", **why),
        notes.Late("told"),
        event("execution_error", turn_id="queued", **why),
        event("session_closed", reason="user_closed", duration_ms=5),
    ]
    desk.session.close("admin")
    assert desk.taken() == []


def test_a_move_ends_what_is_open_and_expects_nothing_of_the_old_machine(desk: Desk) -> None:
    desk.open("told")
    desk.session.move("other")
    ended, late, moved = desk.taken()
    assert isinstance(ended, dict)
    assert (ended["type"], ended["code"]) == ("execution_error", "SESSION_MOVED")
    assert (late, moved) == (notes.Late("told"), notes.Moved("other"))
    assert (desk.state.machine_id, desk.state.late) == ("other", {})


def test_an_end_drops_the_questions_of_its_turn_and_those_of_none(desk: Desk) -> None:
    desk.open("t1", "t2")
    for request_id, turn in (("q1", "t1"), ("q2", "t2"), ("q", None)):
        desk.hears("approval_request", request_id=request_id, turn_id=turn)
    desk.taken()
    desk.hears("execution_complete", turn_id="t1")
    assert desk.taken() == [
        event("execution_complete", turn_id="t1"),
        denied("q1"),
        denied("q"),
    ]
    assert desk.state.questions["q2"].state == "pending"


def test_an_end_by_the_machines_own_name_drops_the_questions_asked_under_it(desk: Desk) -> None:
    desk.open("t1")
    desk.hears("approval_request", request_id="q", turn_id="its own")
    desk.taken()
    desk.hears("execution_complete", turn_id="its own")
    assert desk.taken() == [event("execution_complete", turn_id="its own"), denied("q")]
    assert desk.state.ended.keys() == {"t1"}


def test_an_end_that_comes_again_is_not_logged(desk: Desk) -> None:
    desk.open("t1", "t2")
    desk.hears("execution_complete", turn_id="t1")
    desk.taken()
    desk.hears("execution_complete", turn_id="t1")
    assert desk.taken() == ["skip"]
    assert list(desk.state.turns) == ["t2"]


@pytest.mark.parametrize("name", [None, "its own", "t1"])
def test_a_late_terminal_event_is_taken_once_and_ends_no_other_turn(
    desk: Desk, name: str | None
) -> None:
    desk.open("t1")
    assert desk.session.finish("t1", "execution_error", is_late=True, code="X")
    desk.taken()
    desk.open("t2", told=False)
    desk.session.note(notes.Told("t2", settles=False))
    desk.taken()
    desk.hears("execution_complete", turn_id=name)
    assert desk.taken() == ["skip", notes.Settled("t1")]
    assert list(desk.state.turns) == ["t2"]
    desk.hears("execution_complete", turn_id=None)
    assert desk.taken() == [event("execution_complete", turn_id=None)]
    assert not desk.state.turns


def test_an_end_that_names_an_open_turn_is_not_late(desk: Desk) -> None:
    desk.open("t1", "t2")
    desk.session.finish("t1", "execution_error", is_late=True)
    desk.taken()
    desk.hears("execution_complete", turn_id="t2")
    assert desk.taken() == [event("execution_complete", turn_id="t2")]
    assert list(desk.state.late) == ["t1"]


def test_a_new_message_makes_an_end_without_a_name_believable(desk: Desk) -> None:
    desk.open("t1")
    desk.session.finish("t1", "execution_error", is_late=True)
    desk.open("t2")
    desk.hears("execution_complete")
    assert desk.state.ended.keys() == {"t1", "t2"}
    desk.taken()
    desk.hears("execution_complete", turn_id="t1")
    assert desk.taken() == ["skip"]


def test_an_end_of_nothing_is_shown_and_ends_nothing(desk: Desk) -> None:
    desk.open("queued", told=False)
    desk.hears("execution_complete")
    assert desk.taken() == [event("execution_complete")]
    assert list(desk.state.turns) == ["queued"]


def test_a_turn_is_finished_once(desk: Desk) -> None:
    desk.open("t")
    assert desk.session.finish("t", "execution_complete", cancelled=True)
    assert not desk.session.finish("t", "execution_error")
    assert desk.taken() == [event("execution_complete", turn_id="t", cancelled=True)]


def test_a_refusal_ends_every_turn_that_was_told_and_is_not_logged_itself(desk: Desk) -> None:
    desk.open("t1", "t2")
    desk.open("queued", told=False)
    line = events.make("execution_error", 7, error="no room", code="SESSION_LIMIT")
    refusal = events.look(line)
    assert refusal is not None
    desk.session.refused(refusal)
    why = {"error": "no room", "code": "SESSION_LIMIT"}
    assert desk.taken() == [
        event("execution_error", turn_id="t1", **why),
        event("execution_error", turn_id="t2", **why),
        "skip",
    ]
    assert list(desk.state.turns) == ["queued"]


def test_what_a_restarted_machine_forgot_fails_and_what_waits_stays(desk: Desk) -> None:
    desk.open("told")
    desk.open("queued", told=False)
    desk.hears("approval_request", request_id="q", turn_id="told")
    desk.taken()
    desk.session.end_told(*session_core.RESTARTED)
    resolved, end = desk.taken()
    assert resolved == denied("q")
    assert isinstance(end, dict)
    assert (end["turn_id"], end["code"]) == ("told", "MACHINE_RESTARTED")
    assert (list(desk.state.turns), desk.state.late) == (["queued"], {})


def test_too_many_questions_are_denied_oldest_first(desk: Desk) -> None:
    desk.open("t")
    for number in range(1_001):
        desk.hears("approval_request", request_id=f"q{number}", turn_id="t")
    *_, resolved, answered = desk.taken()
    assert resolved == event(
        "approval_resolved", request_id="q0", confirmed=False, reason="too_many"
    )
    assert answered == notes.Answered("q0", None, None)
    pending = [one for one, q in desk.state.questions.items() if q.state == "pending"]
    assert (len(pending), pending[0]) == (1_000, "q1")
