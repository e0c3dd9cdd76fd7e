"""The pure core of a machine: room, machines that are away, closes and moves."""

import pytest

from tests.unit.control.machines.cases import KINDS, up
from tests.unit.control.machines.pure import (
    AGP,
    AWAY_S,
    VM,
    Pure,
    core_of,
    say_of,
    start_of,
)
from trunkline import limits
from trunkline.control.errors import LimitReached, Unavailable
from trunkline.control.machines.actions import (
    Departed,
    Fetch,
    Look,
    Recall,
    Released,
    Send,
    Status,
)
from trunkline.control.machines.traits import Traits
from trunkline.control.sessions import notes
from trunkline.wire.commands import (
    MOVED,
    Forward,
    Stop,
)


def test_what_waits_takes_a_bounded_amount_of_memory() -> None:
    pure = Pure(VM)
    pure.adopt()
    pure.say("large", text="x" * (limits.HELD_BYTES_MAX - 10_000))
    pure.core.check_room(1_000)
    with pytest.raises(LimitReached) as refused:
        pure.core.check_room(20_000)
    assert refused.value.code == "MACHINE_BUSY"


@pytest.mark.parametrize("way", ["sent", "cancelled", "closed", "moved", "gone"])
def test_what_waits_no_more_makes_room(way: str) -> None:
    pure = Pure(VM)
    pure.adopt()
    pure.core.configure("s", {"pad": "x" * 1000})
    pure.say("large", text="x" * limits.HELD_BYTES_MAX)
    with pytest.raises(LimitReached):
        pure.core.check_room()
    match way:
        case "sent":
            pure.returns(listing={"s"})
        case "cancelled":
            pure.core.cancel("s", "user_cancelled")
        case "closed":
            pure.core.close("s", "user_closed")
        case "moved":
            pure.core.move("s", "other")
        case "gone":
            pure.passes(AWAY_S)
            pure.up()
    pure.core.check_room(limits.HELD_BYTES_MAX - 10_000)


def test_the_number_of_messages_that_wait_for_an_absent_machine_has_a_bound() -> None:
    pure = Pure(AGP)
    pure.adopt()
    for number in range(limits.HELD_MESSAGES_MAX):
        pure.core.check_room()
        pure.say(f"t{number}")
    with pytest.raises(LimitReached) as refused:
        pure.core.check_room()
    assert refused.value.code == "MACHINE_BUSY"
    pure.returns()
    pure.core.check_room()


def test_what_is_passed_on_leaves_room_for_what_people_say() -> None:
    pure = Pure(VM)
    pure.adopt()
    for _ in range(limits.HELD_FORWARDS_MAX):
        pure.core.forward(Forward("s", "yeaft", "{}"))
    with pytest.raises(LimitReached) as refused:
        pure.core.forward(Forward("s", "yeaft", "{}"))
    assert refused.value.code == "MACHINE_BUSY"
    pure.core.check_room()
    pure.say("t")


def test_forwards_count_with_what_they_hold() -> None:
    pure = Pure(VM)
    pure.core.forward(Forward("", "yeaft", "x" * (limits.HELD_BYTES_MAX - 10_000)))
    with pytest.raises(LimitReached):
        pure.core.forward(Forward("", "yeaft", "x" * 20_000))


def test_a_machine_that_is_away_too_long_is_given_up_and_whoever_waits_is_told() -> None:
    pure = Pure(VM)
    pure.adopt()
    pure.say("t")
    assert [one for one in pure.actions() if isinstance(one, Status)] == [
        Status({"machine": "offline", "machine_id": "m", "held": True}, "s")
    ]
    pure.passes(AWAY_S - 1)
    assert pure.ends() == []
    pure.passes(1)
    found = pure.actions()
    assert pure.core.state.status == "gone"
    gone = [one.fields for one in found if isinstance(one, Status)]
    assert [(one["machine"], one["code"]) for one in gone] == [("gone", "MACHINE_OFFLINE")]
    assert not pure.state().turns
    with pytest.raises(Unavailable) as refused:
        pure.core.check_room()
    assert refused.value.code == "MACHINE_OFFLINE"
    pure.passes(AWAY_S)
    assert pure.actions() == []  # it is given up once


def test_a_machine_that_was_heard_of_is_away_since_then() -> None:
    pure = up(VM)
    pure.passes(30)
    pure.core.line_down()
    pure.passes(AWAY_S - 1)
    assert pure.core.is_expected
    pure.passes(1)
    assert not pure.core.is_expected


def test_a_device_that_never_came_is_away_from_when_somebody_waits_for_it() -> None:
    pure = Pure(AGP, state="pending")
    pure.adopt()
    pure.passes(10 * AWAY_S)
    assert pure.core.is_expected
    pure.say("t")
    pure.passes(1)
    pure.passes(AWAY_S - 1)
    assert pure.core.state.status == "pending"
    pure.passes(1)
    assert (pure.core.state.status, pure.ends()) == ("gone", [("t", "MACHINE_OFFLINE")])


def test_a_machine_that_is_started_from_here_is_waited_for_as_long_as_it_takes() -> None:
    pure = Pure(VM, state="pending")
    pure.adopt()
    pure.say("t")
    pure.passes(10 * AWAY_S)
    assert pure.core.is_expected
    assert pure.ends() == []


@pytest.mark.parametrize("state", ["failed", "terminated"])
def test_a_machine_that_will_not_come_ends_what_waits_until_it_is_revived(state: str) -> None:
    pure = Pure(VM)
    pure.adopt()
    pure.say("t")
    pure.core.configure("s", {"a": 1})
    pure.actions()
    pure.core.end(state, "VM_FAILED", "no room")
    assert pure.ends() == [("t", "VM_FAILED")]
    assert not pure.core.is_expected
    pure.core.line_down()
    assert pure.core.state.status == state
    pure.core.revive()
    assert pure.core.state.status == "pending"
    assert pure.core.is_expected


def test_a_closed_session_is_stopped_and_forgotten_when_its_machine_has_let_go() -> None:
    pure = up(VM)
    pure.say("t")
    pure.actions()
    pure.core.close("s", "user_closed", duration_ms=1)
    found = pure.actions()
    assert [one.command for one in found if isinstance(one, Send)] == [Stop("s", "user_closed")]
    assert pure.state().is_stop_pending
    pure.core.listed({"s"})
    assert pure.actions() == []
    pure.core.listed(set())
    stopped, released = pure.actions()
    assert (getattr(stopped, "text", None), released) == (
        notes.encode(notes.Stopped()),
        Released("s"),
    )
    assert not pure.core.state.sessions


@pytest.mark.parametrize("way", ["time", "stopped"])
def test_the_last_words_of_a_session_are_waited_for_only_so_long(way: str) -> None:
    pure = up(VM)
    pure.core.close("s", "user_closed")
    pure.actions()
    match way:
        case "time":
            pure.passes(29)
            assert pure.actions() == []
            pure.passes(1)
        case "stopped":
            pure.core.stopped("s")
    assert Released("s") in pure.actions()


@KINDS
@pytest.mark.parametrize("way", ["line", "new line", "crash"])
def test_a_stop_that_may_not_have_arrived_is_told_again(traits: Traits, way: str) -> None:
    pure = up(traits)
    pure.core.close("s", "user_closed")
    pure.actions()
    match way:
        case "line":
            pure.core.line_down()
        case "crash":
            pure = pure.reborn()
    pure.up()
    pure.core.resumed()
    assert Stop("s", "user_closed") in pure.sent()


def test_a_session_that_is_closed_while_its_machine_is_away_is_stopped_on_its_return() -> None:
    pure = up(VM)
    pure.core.line_down()
    pure.core.close("s", "user_closed")
    assert pure.sent() == []
    for machine in (pure, pure.reborn()):
        machine.up()
        machine.core.resumed()
        assert machine.sent() == [Stop("s", "user_closed")]


def test_a_session_of_a_machine_that_never_came_is_closed_without_it() -> None:
    pure = Pure(VM, state="pending")
    pure.adopt()
    pure.core.close("s", "user_closed")
    assert pure.appended()[-1] == notes.Stopped()
    assert not pure.core.state.sessions


def test_a_session_that_is_closed_while_its_machine_is_given_up_is_recalled_if_it_returns() -> None:
    pure = up(VM)
    pure.core.line_down()
    pure.passes(AWAY_S)
    state = pure.state()
    pure.core.close("s", "user_closed")
    assert state.is_stop_pending
    assert not pure.core.state.sessions
    pure.actions()
    pure.up()
    assert Recall() in pure.actions()
    pure.core.resumed()
    pure.adopt("s", state)
    assert pure.sent() == [Stop("s", "user_closed")]


def test_a_close_before_anybody_noticed_that_its_machine_is_gone_is_recalled_too() -> None:
    pure = up(VM)
    pure.core.line_down()
    pure.time.ms += int(AWAY_S * 1000)  # and nobody has looked since
    pure.core.close("s", "user_closed")
    assert pure.core.state.status == "offline"
    assert not pure.core.state.sessions
    pure.actions()
    pure.up()
    assert Recall() in pure.actions()


def test_a_session_that_was_closed_before_its_machine_was_given_up_is_kept_for_its_return() -> None:
    pure = up(VM)
    pure.core.line_down()
    pure.core.close("s", "user_closed")
    state = pure.state()
    pure.passes(AWAY_S)
    assert Released("s") in pure.actions()
    assert state.is_stop_pending


def other_machine(pure: Pure) -> Pure:
    other = Pure(VM)
    other.core = core_of("other", VM, pure.time)
    other.time = pure.time
    return other


def test_a_session_that_moves_is_stopped_there_and_started_here() -> None:
    pure = up(VM)
    other = other_machine(pure)
    other.up(fresh=True)
    other.actions()
    pure.say("t")
    pure.actions()
    session = pure.core.move("s", "other")
    found = pure.actions()
    assert [one.command for one in found if isinstance(one, Send)] == [Stop("s", MOVED)]
    assert found[-1] == Released("s")
    other.core.adopt("s", session, is_new=True)
    assert other.asked() == [Fetch("s")]
    other.core.fetched("s", other.core.state.line_number, start_of())
    other.say("next")
    assert other.sent() == [start_of(), say_of("next")]
    assert pure.actions() == []
    assert session.ended.keys() == {"t"}


def test_a_session_that_moves_from_an_absent_machine_is_looked_for_there_on_its_return() -> None:
    pure = up(VM)
    pure.core.line_down()
    pure.core.move("s", "other")
    assert pure.sent() == []
    pure.up()
    pure.core.resumed()
    pure.core.listed({"s"})
    assert Look(frozenset({"s"})) in pure.actions()


@pytest.mark.parametrize(("fresh", "lists"), [(True, False), (False, True), (False, False)])
def test_what_left_a_machine_that_lists_nothing_is_looked_up_on_its_return(
    fresh: bool, lists: bool
) -> None:
    """Its `stop` may have been lost, or never sent; a fresh one runs nothing."""
    pure = up(VM)
    pure.core.line_down()
    pure.core.move("s", "other")
    pure.up(fresh=fresh)
    if lists:
        pure.core.listed(set())
    pure.passes(1)
    assert (Departed() in pure.actions()) is not (fresh or lists)


def test_a_session_that_moves_to_an_absent_machine_is_started_on_its_return() -> None:
    pure = up(VM)
    other = other_machine(pure)
    other.core.adopt("s", pure.core.move("s", "other"), is_new=True)
    other.say("t")
    assert other.asked() == []
    other.up()
    other.core.resumed()
    other.core.listed(set())
    assert other.asked() == [Fetch("s")]
