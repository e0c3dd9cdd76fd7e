"""The pure core of a machine: what waits for it, for how long, and what takes up no room."""

import msgspec
import pytest

from tests.unit.control.machines.cases import up
from tests.unit.control.machines.pure import (
    AGP,
    AWAY_S,
    NUMBERED,
    VM,
    Pure,
    say_of,
    start_of,
)
from trunkline import limits
from trunkline.control.errors import LimitReached
from trunkline.control.machines.actions import Load
from trunkline.control.machines.core import MachineCore
from trunkline.control.machines.telling import Room
from trunkline.control.machines.traits import Traits
from trunkline.wire.commands import Configure


def test_a_change_that_waits_behind_a_turn_has_a_bound_though_the_machine_is_there() -> None:
    pure = up(AGP)
    pure.say("t")
    pure.core.configure("s", {"pad": "x" * (limits.HELD_BYTES_MAX - 10_000)})
    for change in (pure.core.check_change, pure.core.configure):
        with pytest.raises(LimitReached) as refused:
            change("s", {"pad": "x" * 20_000}, {})
        assert refused.value.code == "MACHINE_BUSY"


def test_a_message_that_cannot_be_sent_when_it_is_loaded_is_loaded_again() -> None:
    """It takes no room that nobody gave it."""
    pure = up(NUMBERED)
    pure.say("t")
    again = pure.reborn()
    again.core.state.sessions["s"].session.turns["t"].is_told = False
    again.returns(listing={"s"})
    assert again.asked() == [Load("s", "t")]
    again.core.line_down()
    again.core.loaded("s", say_of("t"))
    assert (again.core.held_count, again.core.held_bytes) == (0, 0)
    again.actions()
    again.returns(listing={"s"})
    assert again.asked() == [Load("s", "t")]
    again.core.loaded("s", say_of("t"))
    assert again.sent() == [say_of("t")]


def test_what_waits_for_a_device_that_never_comes_takes_up_its_room_only_so_long() -> None:
    pure = Pure(AGP, state="pending")
    pure.adopt()
    pure.core.configure("s", {"a": 1})
    pure.passes(1)
    pure.passes(AWAY_S)
    assert (pure.core.held_count, pure.core.state.status) == (0, "gone")


def test_how_much_may_wait_is_an_argument() -> None:
    pure = Pure(VM)
    core = MachineCore(pure.core.state, pure.time, away_s=AWAY_S, room=Room(messages_max=0))
    with pytest.raises(LimitReached):
        core.check_room()


RULES = Traits(numbers=True, rules=True)
NEW_RULES = Configure("s", {"rules": [{"rule": "new"}]})


def test_rules_that_change_while_a_start_is_made_are_told_behind_it() -> None:
    pure = Pure(RULES)
    pure.adopt()
    pure.returns(listing=set())
    pure.say("t")
    pure.core.rule("s", [{"rule": "new"}])  # the start that is being made may have the old ones
    pure.actions()
    pure.core.fetched("s", pure.core.state.line_number, start_of())
    sent = pure.sent()
    assert sent[0] == start_of()
    assert NEW_RULES in sent


def test_a_session_that_was_only_silent_gets_the_rules_beside_its_start() -> None:
    """It runs, so that its machine takes no other start."""
    pure = up(Traits(rules=True))
    pure.core.state.sessions["s"].session.is_started = True
    pure.say("t")
    pure.core.line_down()
    pure.returns(listing={"s"})
    pure.passes(600)
    pure.say("next")
    pure.actions()
    start = msgspec.structs.replace(start_of(), rules=NEW_RULES.patch["rules"])
    pure.core.fetched("s", pure.core.state.line_number, start)
    sent = pure.sent()
    assert sent[0] == start
    assert NEW_RULES in sent


def test_rules_that_change_while_a_session_is_started_anew_are_the_last_that_is_told() -> None:
    """The list of its start was read before the change, and no other one is told behind it."""
    pure = up(RULES)
    pure.core.state.sessions["s"].session.is_started = True
    pure.core.line_down()
    pure.returns(listing=set())
    pure.say("t")
    pure.core.rule("s", [{"rule": "new"}])
    pure.actions()
    start = msgspec.structs.replace(start_of(), rules=[{"rule": "old"}])
    pure.core.fetched("s", pure.core.state.line_number, start)
    sent = pure.sent()
    assert sent[:2] == [start, NEW_RULES]
    assert [type(one).__name__ for one in sent] == ["Start", "Configure", "Say"]


def test_rules_wait_for_no_machine_that_is_away_which_is_told_all_on_its_return() -> None:
    pure = up(RULES)
    pure.core.rule("s", [{"rule": "new"}])
    assert pure.sent() == [NEW_RULES]
    pure.core.line_down()
    pure.core.rule("s", [{"rule": "new"}])
    assert pure.core.held_count == 0


def test_a_machine_that_is_not_read_while_the_log_stalls_is_given_time() -> None:
    """What it says of its turns waits in the network: else it would be told the next turn before
    the one that it has lost."""
    pure = up(NUMBERED)
    pure.say("lost")
    pure.actions()
    pure.core.line_down()
    pure.up()
    pure.say("next")
    for _ in range(60):
        pure.time.s += 1
        pure.core.tick(is_stalled=True)
    pure.passes(1)
    assert pure.sent() == []
    pure.core.resumed([])
    pure.core.listed({"s"})
    assert pure.asked() == [Load("s", "lost")]
