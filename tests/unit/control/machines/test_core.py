"""The pure core of a machine: lines that come and go, sessions that are started."""

import pytest

from tests.unit.control.machines.cases import KINDS, STARTING, fetched, new_session, up
from tests.unit.control.machines.pure import (
    AGP,
    GROUP,
    NUMBERED,
    VM,
    Pure,
    say_of,
    start_of,
)
from trunkline import limits
from trunkline.control.machines.actions import (
    Fetch,
    Load,
    Status,
)
from trunkline.control.machines.state import Place
from trunkline.control.machines.traits import Traits
from trunkline.control.sessions import notes
from trunkline.wire.commands import Cancel, Forward


@STARTING
def test_a_new_session_is_started_before_it_is_spoken_to(traits: Traits) -> None:
    pure = Pure(traits)
    pure.up(fresh=True)
    new_session(pure)
    assert pure.asked() == [Fetch("s")]
    pure.say("t")
    assert pure.sent() == []
    fetched(pure)
    assert pure.sent() == [start_of(), say_of("t")]
    assert pure.state().is_started


def test_a_session_that_brings_its_start_needs_no_second_one() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    pure.core.out.clear()
    new_session(pure, start=start_of())
    fetches = [one for one in pure.core.out if isinstance(one, Fetch)]
    assert (fetches, pure.sent()) == ([], [start_of()])


def test_a_session_that_runs_already_is_not_started_again() -> None:
    """A message and a kept turn both want their session to run."""
    pure = up(VM)
    pure.say("t")
    fetched(pure)
    pure.core.listed({"s"})
    assert pure.sent() == [say_of("t")]


def test_a_session_that_should_run_and_does_not_is_started_by_the_next_message() -> None:
    pure = up(VM)
    pure.core.listed(set())
    assert pure.actions() == []
    pure.say("t")
    assert pure.asked() == [Fetch("s")]


def test_there_is_one_fetch_at_a_time_and_one_of_an_earlier_line_is_void() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    new_session(pure)
    pure.say("t")
    assert pure.asked() == [Fetch("s")]
    earlier = pure.core.state.line_number
    pure.core.line_down()
    pure.up(fresh=True)
    assert pure.asked() == [Fetch("s")]
    pure.core.fetched("s", earlier, start_of())
    assert pure.sent() == []
    fetched(pure)
    assert pure.sent() == [start_of(), say_of("t")]


def test_a_session_that_is_gone_meanwhile_is_not_started() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    new_session(pure)
    pure.core.fetched("s", pure.core.state.line_number, None)
    assert pure.sent() == []


def test_a_session_that_does_not_start_fails_its_messages_where_sessions_are_listed() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    new_session(pure, start=start_of())
    pure.core.listed(set())
    pure.say("t")
    pure.passes(limits.SESSION_START_TIMEOUT_S - 1)
    assert pure.ends() == []
    pure.passes(1)
    assert pure.ends() == [("t", "SESSION_START_TIMEOUT")]
    pure.say("again")
    assert pure.asked() == [Fetch("s")]


def test_a_machine_that_lists_nothing_is_taken_at_its_silence() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    new_session(pure, start=start_of())
    pure.say("t")
    pure.passes(limits.SESSION_START_TIMEOUT_S)
    assert pure.ends() == []
    assert pure.core.state.sessions["s"].place is Place.RUNNING


def test_a_session_that_has_spoken_is_not_overdue() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    new_session(pure, start=start_of())
    pure.core.listed(set())
    pure.say("t")
    assert pure.core.awaits("s")
    pure.core.spoke("s")
    assert pure.state().is_seen
    assert not pure.core.awaits("s")
    pure.passes(limits.SESSION_START_TIMEOUT_S)
    assert pure.ends() == []


@pytest.mark.parametrize("code", ["RUNTIME_UNSUPPORTED", "SESSION_LIMIT", "SESSION_START_FAILED"])
def test_a_refusal_ends_what_was_told_and_the_next_message_tries_again(code: str) -> None:
    pure = up(VM)
    pure.say("t1")
    pure.say("t2")
    pure.actions()
    pure.hears("execution_error", error="no room", code=code)
    assert pure.ends() == [("t1", code), ("t2", code)]
    pure.passes(1_000)
    assert pure.ends() == []  # it is not waited for
    pure.say("t3")
    assert pure.asked() == [Fetch("s")]


def test_a_session_that_could_not_be_started_fails_what_waits_for_it() -> None:
    pure = Pure(VM)
    pure.adopt()
    pure.say("t")
    pure.actions()
    pure.core.not_started("s", "no such program", "SESSION_START_FAILED")
    assert pure.ends() == [("t", "SESSION_START_FAILED")]


@KINDS
def test_a_returning_machine_is_told_nothing_before_it_has_spoken_or_a_moment_has_passed(
    traits: Traits,
) -> None:
    pure = Pure(traits)
    pure.adopt()
    pure.say("t")
    pure.core.forward(Forward("s", "yeaft", "{}"))
    pure.actions()
    pure.up()
    assert pure.sent() == []
    pure.core.resumed()
    pure.core.listed({"s"})
    assert pure.sent() == [Forward("s", "yeaft", "{}"), say_of("t")]


def test_a_machine_that_does_not_resume_is_told_after_a_moment() -> None:
    pure = Pure(AGP)
    pure.adopt()
    pure.say("t")
    pure.up()
    pure.passes(limits.RESUME_GRACE_S - 0.5)
    assert pure.sent() == []
    pure.passes(0.5)
    assert pure.sent() == [say_of("t")]


def test_who_reads_is_told_of_lines_once_each() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    pure.up(fresh=True)
    pure.core.line_down()
    told = [one.fields["machine"] for one in pure.actions() if isinstance(one, Status)]
    assert told == ["online", "offline"]


def test_a_line_replaced_by_a_newer_one_says_everything_again_that_matters() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    new_session(pure, start=start_of())
    pure.up(fresh=True)  # another program: it runs nothing
    pure.say("t")
    assert pure.asked() == [Fetch("s")]


def test_a_restarted_machine_fails_what_it_was_told_of_and_starts_again_with_what_waits() -> None:
    pure = up(VM)
    pure.core.fetched("s", 0, None)
    pure.say("told")
    pure.core.line_down()
    pure.say("waits")
    pure.actions()
    pure.core.restarted(VM)
    assert pure.ends() == [("told", "MACHINE_RESTARTED")]
    pure.up(fresh=True)
    assert pure.asked() == [Fetch("s")]
    fetched(pure)
    assert pure.sent() == [start_of(), say_of("waits")]


def test_a_restart_is_committed_before_the_machine_is_let_in() -> None:
    pure = Pure(VM)
    pure.up(fresh=True)
    new_session(pure, start=start_of())
    pure.say("t")
    pure.core.line_down()
    pure.actions()
    pure.core.restarted(VM)
    kinds = [one if isinstance(one, dict) else type(one) for one in pure.appended()]
    assert kinds[0] is notes.Absent
    assert not pure.state().is_started
    assert not pure.state().turns


def test_a_restarted_machine_that_numbers_its_events_kept_its_turns() -> None:
    pure = up(NUMBERED)
    pure.say("t")
    pure.core.line_down()
    pure.actions()
    pure.core.restarted(NUMBERED)
    assert pure.ends() == []


@pytest.mark.parametrize("traits", [NUMBERED, AGP, GROUP])
def test_a_machine_that_says_which_turns_it_has_is_told_the_others_again(traits: Traits) -> None:
    pure = Pure(traits)
    for session_id in ("s", "other"):
        pure.adopt(session_id)
    pure.up()
    pure.core.resumed()
    pure.core.listed({"s", "other"})
    pure.say("has")
    pure.say("lost", "other")
    pure.core.line_down()
    pure.up()
    pure.actions()
    pure.core.resumed(["has"])
    assert pure.state("other").turns["lost"].is_told is False
    pure.core.listed({"s", "other"})
    assert pure.asked() == [Load("other", "lost")]
    pure.core.loaded("other", say_of("lost", "other"))
    assert pure.sent() == [say_of("lost", "other")]
    assert [turn.id for turn in pure.state().told] == ["has"]


def test_a_turn_that_went_out_on_this_line_is_not_told_again_by_its_resume() -> None:
    pure = Pure(AGP)
    pure.adopt()
    pure.up(fresh=True)
    pure.say("t")
    pure.actions()
    pure.core.resumed([])
    assert pure.actions() == []


def test_what_is_told_again_does_not_depend_on_a_restart_in_between() -> None:
    """Whether a prompt was sent is written before it is."""
    pure = up(AGP)
    pure.say("lost")
    again = pure.reborn()
    again.up()
    again.core.resumed([])
    assert again.asked() == [Load("s", "lost")]
    again.core.loaded("s", say_of("lost"))
    assert again.sent() == [say_of("lost")]


def test_a_stopped_turn_that_the_machine_does_not_have_is_not_begun() -> None:
    pure = up(NUMBERED)
    pure.say("t")
    pure.core.line_down()
    pure.core.cancel("s", "user_cancelled")
    pure.actions()
    pure.up()
    pure.core.resumed([])
    assert pure.ends() == [("t", "cancelled")]


def test_a_machine_that_knows_turns_from_the_log_only_is_told_the_stopped_ones_too() -> None:
    pure = up(GROUP)
    pure.say("t")
    pure.core.line_down()
    pure.core.cancel("s", "user_cancelled")
    pure.up()
    pure.core.resumed([])
    assert pure.asked() == [Load("s", "t")]
    pure.core.loaded("s", say_of("t"))
    assert pure.sent() == [say_of("t"), Cancel("s", "user_cancelled")]
