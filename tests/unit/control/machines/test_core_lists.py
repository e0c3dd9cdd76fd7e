"""The pure core of a machine: what a machine lists, and turns that saw a line break."""

import pytest

from tests.unit.control.machines.cases import breaks, fetched, new_session, up
from tests.unit.control.machines.pure import (
    AGP,
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
    Look,
    Send,
)
from trunkline.control.sessions import notes
from trunkline.wire.commands import (
    MOVED,
    Stop,
)


def test_messages_wait_for_the_list_of_a_machine_that_numbers_its_events() -> None:
    """It may come back as another process: no message goes to a session that does not run."""
    pure = up(NUMBERED)
    pure.core.line_down()
    pure.say("t")
    pure.actions()
    pure.up()
    pure.core.resumed([])
    assert pure.sent() == []
    pure.core.listed(set())
    assert pure.asked() == [Fetch("s")]
    fetched(pure)
    assert pure.sent() == [start_of(), say_of("t")]


def test_a_new_session_need_not_wait_for_the_list_and_says_nothing_of_the_others() -> None:
    pure = up(NUMBERED)
    breaks(pure)
    pure.core.resumed([])
    new_session(pure, "new", start_of("new"))
    pure.say("t", "new")
    pure.say("old")
    assert pure.sent() == [start_of("new"), say_of("t", "new")]
    pure.core.listed({"s"})
    assert pure.sent() == [say_of("old")]


def late_list() -> Pure:
    """A message went to a session whose machine had not listed it in time."""
    pure = Pure(NUMBERED)
    state = pure.adopt()
    state.is_started = state.is_seen = True
    pure.say("t")
    pure.up()
    pure.core.resumed([])
    pure.actions()
    pure.passes(limits.HEARTBEAT_INTERVAL_S)
    assert pure.sent() == []
    pure.passes(1)
    assert pure.sent() == [say_of("t")]
    return pure


def test_a_message_to_a_session_that_does_not_run_after_all_is_said_again_once() -> None:
    pure = late_list()
    for _ in range(3):
        pure.core.listed(set())
    assert pure.asked() == [Fetch("s")]
    fetched(pure)
    assert pure.asked() == [Load("s", "t")]
    pure.core.loaded("s", say_of("t"))
    assert pure.sent() == [say_of("t")]
    pure.core.listed(set())
    pure.hears("execution_complete", turn_id="t")
    pure.core.listed(set())
    assert pure.sent() == []
    assert not pure.state().turns


@pytest.mark.parametrize("shown_by", ["list", "event", "end"])
def test_a_message_that_its_session_has_is_not_said_again(shown_by: str) -> None:
    pure = late_list()
    if shown_by == "list":
        pure.core.listed({"s"})
        pure.core.spoke("s")
    elif shown_by == "event":
        pure.core.spoke("s")
    else:
        pure.hears("execution_complete", turn_id="t")
    pure.actions()
    pure.core.listed(set())
    pure.core.listed({"s"})
    assert [one for one in pure.actions() if isinstance(one, Send | Load)] == []


def test_a_machine_that_lists_nothing_is_believed_to_run_what_it_was_heard_of() -> None:
    pure = Pure(VM)
    seen, unseen = pure.adopt("seen"), pure.adopt("unseen")
    seen.is_started = seen.is_seen = True
    assert not unseen.is_started
    for session_id in ("seen", "unseen"):
        pure.say(f"to {session_id}", session_id)
    pure.up()
    pure.core.resumed()
    pure.actions()
    pure.passes(1)
    found = pure.actions()
    assert [one.command for one in found if isinstance(one, Send)] == [say_of("to seen", "seen")]
    assert [one for one in found if isinstance(one, Fetch)] == [Fetch("unseen")]


def test_a_session_whose_start_may_have_broken_with_its_line_is_given_up_if_it_never_speaks() -> (
    None
):
    pure = Pure(VM)
    pure.up(fresh=True)
    new_session(pure, start=start_of())
    breaks(pure)
    pure.core.resumed()
    assert pure.asked() == []  # it may have arrived: a running session is not started twice
    pure.say("t")
    pure.passes(700)
    assert pure.ends() == [("t", "DELIVERY_UNKNOWN")]
    pure.say("u")
    assert pure.asked() == [Fetch("s")]


def test_a_session_that_is_missing_on_its_machine_fails_its_turns_and_not_what_waits() -> None:
    pure = up(VM)
    pure.say("told")
    pure.actions()
    pure.core.listed(set())
    assert pure.ends() == [("told", "MACHINE_RESTARTED")]


def test_a_turn_that_a_restarted_machine_kept_brings_its_session_back() -> None:
    """It waits for a person: it goes on when its session runs again."""
    pure = up(NUMBERED)
    pure.say("t")
    pure.hears("approval_request", request_id="q", turn_id="t")
    breaks(pure)
    pure.core.resumed(["t"])
    pure.core.listed(set())
    assert pure.asked() == [Fetch("s")]
    assert list(pure.state().turns) == ["t"]


def test_sessions_that_are_not_its_own_are_looked_at_and_stopped() -> None:
    pure = up(VM)
    pure.core.listed({"s", "stray", "another"})
    assert pure.actions() == [Look(frozenset({"stray", "another"}))]
    pure.core.stop_strays({"stray": MOVED, "s": "user_closed"})
    assert pure.sent() == [Stop("stray", MOVED)]
    pure.core.line_down()
    pure.core.stop_strays({"stray": MOVED})
    assert pure.sent() == []


@pytest.mark.parametrize(
    ("is_heard", "after_s", "code"),
    [(False, 20, "DELIVERY_UNKNOWN"), (True, 600, "MACHINE_SILENT")],
)
def test_a_turn_that_nothing_is_heard_of_after_a_break_is_given_up(
    is_heard: bool, after_s: int, code: str
) -> None:
    pure = up(VM)
    pure.say("t")
    if is_heard:
        pure.core.spoke("s")
    breaks(pure)
    pure.core.resumed()
    pure.core.listed({"s"})
    pure.passes(after_s - 1)
    assert pure.ends() == []
    pure.passes(1)
    assert pure.ends() == [("t", code)]
    assert list(pure.state().late) == ["t"]
    pure.say("next")
    assert pure.asked() == [Fetch("s")]  # the session there may be anything


def test_each_word_of_the_session_gives_it_more_time() -> None:
    pure = up(VM)
    pure.say("t")
    breaks(pure)
    pure.core.resumed()
    for _ in range(5):
        pure.passes(15)
        assert pure.core.awaits("s")
        pure.core.spoke("s")
    pure.passes(599)
    assert pure.ends() == []
    pure.passes(1)
    assert pure.ends() == [("t", "MACHINE_SILENT")]


def test_a_turn_is_not_given_up_while_the_machine_is_away_again() -> None:
    pure = up(VM)
    pure.say("t")
    breaks(pure)
    pure.core.line_down()
    pure.passes(30)
    assert pure.ends() == []


def test_a_machine_that_says_which_turns_it_has_is_not_watched_for_silence() -> None:
    pure = up(NUMBERED)
    pure.say("t")
    breaks(pure)
    pure.core.resumed(["t"])
    pure.core.listed({"s"})
    pure.passes(1000)
    assert pure.ends() == []


def test_a_turn_without_a_break_may_be_silent_as_long_as_it_likes() -> None:
    pure = up(VM)
    pure.say("t")
    pure.passes(100_000)
    assert pure.ends() == []


def test_a_late_end_of_a_turn_that_was_given_up_ends_no_other() -> None:
    pure = up(AGP)
    pure.say("t1")
    pure.core.finish("s", "t1", "execution_complete", is_late=True, cancelled=True)
    pure.say("t2")
    pure.actions()
    pure.hears("execution_complete", turn_id="t1")
    assert pure.ends() == []
    assert list(pure.state().turns) == ["t2"]
    assert not pure.state().late


def test_an_end_that_came_is_not_asked_for_again_after_a_restart() -> None:
    pure = up(AGP)
    pure.say("t")
    assert pure.core.finish("s", "t", "execution_complete", is_late=True, cancelled=True)
    assert list(pure.reborn().state().late) == ["t"]
    pure.core.settled("s", "t")
    assert pure.appended()[-1] == notes.Settled("t")
    pure.core.settled("s", "t")
    assert pure.actions() == []
    assert not pure.reborn().state().late


def test_what_is_past_is_known_and_what_never_was_is_not() -> None:
    pure = up(VM)
    pure.say("t")
    assert (pure.core.is_busy("s"), pure.core.is_past("s", "t")) == (True, False)
    assert not pure.core.has_ended("s", "t")
    pure.hears("execution_complete", turn_id="t")
    assert (pure.core.is_busy("s"), pure.core.is_past("s", "t")) == (False, True)
    assert pure.core.has_ended("s", "t")
    assert not pure.core.is_past("s", "never")
    assert not pure.core.finish("s", "t", "execution_error")
    assert not pure.core.finish("nowhere", "t", "execution_error")


@pytest.mark.proves("notes-1-unlisted-turns-end")
@pytest.mark.parametrize(
    ("is_fresh", "listed", "ended"),
    [
        (False, None, False),
        (False, {"s"}, False),
        (False, set(), True),
        (False, {"another"}, True),
        (True, None, True),
    ],
)
def test_a_plain_machine_that_returns_without_a_session_has_ended_its_turns(
    is_fresh: bool, listed: set[str] | None, ended: bool
) -> None:
    """At once, and not with the next message; a heartbeat without a list says nothing."""
    pure = up(VM)
    pure.say("t")
    pure.core.spoke("s")
    pure.core.line_down()
    if is_fresh:
        pure.core.restarted(VM)
    pure.up(fresh=is_fresh)
    pure.core.seen()
    if listed is not None:
        pure.core.listed(listed)
    assert ("t" not in pure.state().turns) is ended


def test_a_machine_that_numbers_its_events_is_given_time_to_say_what_it_has() -> None:
    """Its new line may be broken, too, and nobody know it yet."""
    pure = up(NUMBERED)
    pure.say("t")
    pure.core.line_down()
    pure.up()
    pure.passes(30)
    assert pure.ends() == []
    pure.up()
    pure.core.resumed(["t"])
    pure.passes(3600)
    assert pure.ends() == []
