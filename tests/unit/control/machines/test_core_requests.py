"""The pure core of a machine: cancels, answers, one turn at a time."""

import pytest

from tests.unit.control.machines.cases import KINDS, up
from tests.unit.control.machines.pure import (
    AGP,
    GROUP,
    NUMBERED,
    VM,
    YEAFT,
    Pure,
    say_of,
)
from trunkline import limits
from trunkline.control.machines.actions import (
    Append,
    Load,
    Send,
)
from trunkline.control.machines.traits import Traits
from trunkline.control.sessions import notes
from trunkline.wire.commands import (
    Answer,
    Cancel,
    Configure,
)


def test_a_cancel_goes_out_and_what_waits_ends_at_once() -> None:
    pure = up(AGP)
    pure.say("told")
    pure.say("waits")
    pure.actions()
    assert pure.core.cancel("s", "user_cancelled")
    found = pure.actions()
    sent = [one.command for one in found if isinstance(one, Send)]
    assert sent == [Cancel("s", "user_cancelled")]
    assert list(pure.state().turns) == ["told"]
    pure.hears("execution_complete", turn_id="told", cancelled=True)
    assert pure.sent() == []


def test_a_cancel_of_nothing_says_so_and_is_passed_on_all_the_same() -> None:
    pure = up(VM)
    assert not pure.core.cancel("s", "user_cancelled")
    assert pure.sent() == [Cancel("s", "user_cancelled")]
    pure.core.line_down()
    pure.actions()
    assert not pure.core.cancel("s", "user_cancelled")
    assert pure.actions() == []


def test_a_turn_that_begins_in_the_moment_of_the_cancel_is_not_called_idle() -> None:
    """Whether anything is open and its cancel are one step: nothing comes between."""
    pure = up(VM)
    pure.say("from elsewhere")
    assert pure.core.cancel("s", "user_cancelled")
    assert pure.state().turns["from elsewhere"].cancel == "user_cancelled"


def test_a_cancel_while_the_machine_is_away_is_told_when_it_returns() -> None:
    pure = up(VM)
    pure.say("t")
    pure.core.line_down()
    pure.actions()
    assert pure.core.cancel("s", "user_cancelled")
    assert pure.sent() == []
    pure.returns(listing={"s"})
    assert pure.sent() == [Cancel("s", "user_cancelled")]
    pure.core.listed({"s"})
    assert pure.sent() == []


def test_a_cancel_survives_a_restart_of_the_control_plane() -> None:
    pure = up(VM)
    pure.say("t")
    pure.core.cancel("s", "user_cancelled")
    again = pure.reborn()
    again.returns(listing={"s"})
    assert again.sent() == [Cancel("s", "user_cancelled")]


def test_a_device_that_is_away_learns_later_of_a_cancel_and_the_turn_ends_at_once() -> None:
    pure = up(AGP)
    pure.say("t")
    pure.core.line_down()
    pure.actions()
    pure.core.cancel("s", "user_cancelled")
    assert pure.ends() == [("t", "cancelled")]
    assert list(pure.state().late) == ["t"]


def asked(traits: Traits) -> Pure:
    pure = up(traits)
    pure.say("t")
    pure.hears("approval_request", request_id="q", turn_id="t")
    pure.actions()
    return pure


@KINDS
def test_an_answer_goes_to_the_machine_once_a_line(traits: Traits) -> None:
    pure = asked(traits)
    assert pure.core.answer("s", "q", True, {"a": 1}, "ann", {})
    assert pure.sent() == [Answer("s", "q", True, {"a": 1})]
    assert not pure.core.answer("s", "q", False, None, "bob", {})
    assert pure.sent() == []


@KINDS
def test_an_answer_is_repeated_on_a_new_line_until_the_turn_ends(traits: Traits) -> None:
    pure = asked(traits)
    pure.core.answer("s", "q", False, None, "ann", {})
    pure.actions()
    for machine in (pure, pure.reborn()):
        machine.core.line_down()
        machine.up()
        machine.core.resumed(["t"])
        machine.core.listed({"s"})
        assert machine.sent() == [Answer("s", "q", False)]
    pure.hears("execution_complete", turn_id="t")
    pure.core.line_down()
    pure.returns(listing={"s"})
    assert pure.sent() == []


def test_an_answer_given_while_the_machine_is_away_waits_for_it() -> None:
    pure = asked(NUMBERED)
    pure.core.line_down()
    pure.core.answer("s", "q", True, None, "ann", {})
    assert pure.sent() == []
    pure.up()
    pure.core.resumed(["t"])
    assert pure.sent() == []
    pure.core.listed({"s"})
    assert pure.sent() == [Answer("s", "q", True)]


def test_an_answer_outlives_a_turn_that_its_machine_was_never_told_of() -> None:
    """The question names no turn: it is of the one that the machine works on."""
    pure = up(VM)
    pure.say("t")
    pure.hears("approval_request", request_id="q")
    pure.core.line_down()
    pure.core.answer("s", "q", True, None, "ann", {})
    pure.say("waits")
    pure.core.finish("s", "waits", "execution_complete", cancelled=True)
    pure.actions()
    pure.returns(listing={"s"})
    assert pure.sent() == [Answer("s", "q", True)]


def test_a_machine_that_asks_again_is_told_the_answer_again() -> None:
    pure = asked(VM)
    pure.core.answer("s", "q", True, "yes", "ann", {})
    pure.actions()
    pure.hears("approval_request", request_id="q", turn_id="t")
    assert pure.sent() == [Answer("s", "q", True, "yes")]


def test_a_question_does_not_outlive_its_turn() -> None:
    pure = asked(VM)
    pure.hears("execution_error", error="x")
    assert pure.state().questions["q"].state == "denied"
    assert not pure.core.answer("s", "q", True, None, "ann", {})


def test_however_many_answers_wait_for_a_machine_it_is_told_each() -> None:
    pure = up(NUMBERED)
    pure.say("t")
    names = [f"q{number}" for number in range(150)]
    for name in names:
        pure.hears("approval_request", request_id=name, turn_id="t")
    pure.core.line_down()
    for name in names:
        assert pure.core.answer("s", name, True, None, "ann", {})
    again = pure.reborn()
    again.up()
    again.core.resumed(["t"])
    again.core.listed({"s"})
    assert again.sent() == [Answer("s", name, True) for name in names]


def test_what_went_out_on_a_line_is_remembered_only_while_it_matters() -> None:
    pure = up(VM)
    for number in range(50):
        pure.say(f"t{number}")
        pure.core.cancel("s", "user_cancelled")
        pure.hears("execution_complete", cancelled=True)
    one = pure.core.state.sessions["s"]
    assert (one.told, one.cancelled, one.answered) == (set(), set(), set())


@pytest.mark.parametrize("name", ["t", None])
def test_a_question_of_a_turn_that_was_ended_here_is_denied_at_once(name: str | None) -> None:
    """Nobody can answer it any more, and its machine waits."""
    pure = up(AGP)
    pure.say("t")
    pure.core.line_down()
    pure.core.cancel("s", "user_cancelled")
    pure.returns()
    pure.actions()
    pure.hears("approval_request", request_id="q", **({"turn_id": name} if name else {}))
    assert pure.sent() == [Answer("s", "q", False)]
    assert pure.state().questions["q"].state == "denied"
    assert pure.reborn().state().questions["q"].state == "denied"


@pytest.mark.parametrize("traits", [AGP, YEAFT])
def test_the_first_is_sent_and_the_rest_follows_in_its_order(traits: Traits) -> None:
    pure = up(traits)
    for turn in ("t1", "t2", "t3"):
        pure.say(turn)
    assert pure.sent() == [say_of("t1")]
    for ended, following in (("t1", "t2"), ("t2", "t3")):
        pure.hears("execution_complete", turn_id=ended)
        assert pure.sent() == [say_of(following)]
    pure.hears("execution_complete", turn_id="t3")
    assert pure.sent() == []


def test_sessions_do_not_wait_for_each_other() -> None:
    pure = up(AGP)
    pure.adopt("other")
    pure.say("t1")
    pure.say("t2", "other")
    assert pure.sent() == [say_of("t1"), say_of("t2", "other")]


@pytest.mark.parametrize("traits", [VM, NUMBERED, GROUP])
def test_other_machines_are_told_everything_at_once(traits: Traits) -> None:
    pure = up(traits)
    pure.say("t1")
    pure.say("t2")
    assert pure.sent() == [say_of("t1"), say_of("t2")]


def test_a_waiting_message_that_was_ended_is_skipped() -> None:
    pure = up(AGP)
    for turn in ("t1", "t2", "t3"):
        pure.say(turn)
    pure.core.finish("s", "t2", "execution_complete", cancelled=True)
    pure.actions()
    pure.hears("execution_complete", turn_id="t1")
    assert pure.sent() == [say_of("t3")]


def test_what_waits_in_a_session_has_a_bound_and_the_next_fails_at_once() -> None:
    pure = up(AGP)
    for number in range(limits.SESSION_PROMPTS_MAX + 1):
        pure.say(f"t{number}")
    assert pure.ends() == []
    pure.say("too many")
    assert pure.ends() == [("too many", "SESSION_BUSY")]
    pure.adopt("other")
    pure.say("t", "other")
    assert pure.sent() == [say_of("t", "other")]


def test_what_was_said_before_a_restart_is_read_and_goes_out_first() -> None:
    pure = Pure(VM)
    pure.adopt()
    pure.say("t1")
    again = pure.reborn()
    again.say("t2")
    again.returns(listing={"s"})
    assert again.asked() == [Load("s", "t1")]
    again.core.listed({"s"})
    assert again.actions() == []  # one at a time
    again.core.loaded("s", say_of("t1"))
    assert again.sent() == [say_of("t1"), say_of("t2")]


def test_a_message_that_was_ended_while_it_was_read_is_not_sent() -> None:
    pure = Pure(VM)
    pure.adopt()
    pure.say("t1")
    again = pure.reborn()
    again.returns(listing={"s"})
    again.core.cancel("s", "user_cancelled")
    again.actions()
    again.core.loaded("s", say_of("t1"))
    assert again.sent() == []


def test_a_patch_goes_out_in_its_place_among_the_messages() -> None:
    pure = Pure(VM)
    pure.adopt()
    pure.say("t1")
    pure.core.configure("s", {"model": "new"})
    pure.say("t2")
    pure.returns(listing={"s"})
    assert pure.sent() == [say_of("t1"), Configure("s", {"model": "new"}), say_of("t2")]


@KINDS
def test_every_turn_is_told_behind_the_note_that_says_so(traits: Traits) -> None:
    pure = up(traits)
    pure.say("t")
    found = pure.actions()
    place = found.index(Send(say_of("t")))
    before = [one for one in found[:place] if isinstance(one, Append) and one.is_note]
    told = notes.Told("t", settles=not traits.names_ends)
    assert told in [notes.decode(one.text) for one in before]
