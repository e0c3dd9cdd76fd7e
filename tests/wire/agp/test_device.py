"""What becomes of a device's turns, whatever it says and however its line is: without a socket."""

from typing import Any

import pytest

from tests.wire.agp.device_by_hand import (
    CANCELS_KEPT,
    GRACE_S,
    RETURNED_SILENCE_S,
    Here,
    shown,
)
from tests.wire.core_by_hand import CoreByHand
from trunkline.wire import actions
from trunkline.wire.agp.inward import read_logged
from trunkline.wire.agp.messages import Cancel, UpdatePayload
from trunkline.wire.commands import Answer, Configure, Forward, Say, Start, Stop
from trunkline.wire.errors import Malformed


@pytest.fixture
def here() -> Here:
    return Here()


# What it is told


def test_a_message_is_a_prompt_and_its_answer_the_end(here: Here) -> None:
    (prompt,) = here.say("t1")
    assert (prompt.payload.session_id, prompt.payload.prompt_id) == ("s", "t1")
    assert not here.device.is_idle
    here.text("t1", "so ")
    assert here.answer("t1", "so it is") == []
    assert [(one["turn_id"], one["content"]) for one in here.core.ends] == [("t1", "so it is")]
    assert here.device.is_idle


def test_what_the_wire_has_no_words_for_is_not_sent(here: Here) -> None:
    for command in (
        Answer("s", "q", True),
        Forward("s", "yeaft", "{}"),
        Configure("s", {"model": "m"}),
    ):
        assert here.told(command) == []


@pytest.mark.parametrize(
    ("commands", "app"),
    [
        ([], "openclaw"),
        ([Start("s", "x", {"agent_app": "claude"}, [], [], [], {})], "claude"),
        ([Start("s", "openclaw", {}, [], [], [], {})], "openclaw"),
        ([Start("s", "x", {"agent_app": "claude"}, [], [], [], {}), Configure("s", {})], "claude"),
        ([Configure("s", {"agent_app": "codex"})], "codex"),
        ([Configure("s", {"agent_app": "codex"}), Configure("s", {"agent_app": 7})], "openclaw"),
    ],
)
def test_a_prompt_goes_to_the_app_that_was_asked_for_last(
    here: Here, commands: list[Any], app: str
) -> None:
    for command in commands:
        assert here.told(command) == []
    (prompt,) = here.say("t1")
    assert prompt.payload.agent_app == app


def test_without_a_choice_it_is_the_first_app_that_the_device_has(here: Here) -> None:
    here.device.state.default_app = "claude"
    assert here.say("t1")[0].payload.agent_app == "claude"


# A session has one prompt at a time


def test_a_message_behind_a_turn_that_was_ended_here_cancels_that_one_first(here: Here) -> None:
    here.say("t1")
    here.core.end("s", "t1")
    assert shown(here.say("t2")) == [("cancel", "t1"), ("prompt", "t2")]


def test_a_turn_that_was_ended_here_is_cancelled_once(here: Here) -> None:
    here.say("t1")
    here.core.end("s", "t1")
    assert shown(here.passes(1)) == [("cancel", "t1")]
    assert here.passes(1) == []
    assert here.device.is_idle


def test_sessions_do_not_wait_for_each_other() -> None:
    here = Here(CoreByHand("s", "other"))
    assert shown(here.say("t1")) == [("prompt", "t1")]
    assert shown(here.say("t2", "other")) == [("prompt", "t2")]


# Cancels


def test_a_cancel_goes_out_and_the_devices_answer_ends_the_turn(here: Here) -> None:
    here.say("t1")
    assert shown(here.cancel()) == [("cancel", "t1")]
    here.answer("t1", reason="cancelled")
    assert [one["cancelled"] for one in here.core.ends] == [True]
    assert here.passes(GRACE_S + 1) == []
    assert len(here.core.ends) == 1


def test_a_cancel_with_no_active_turn_is_nothing(here: Here) -> None:
    assert here.cancel() == []
    here.say("t1")
    here.answer("t1")
    assert here.cancel() == []


def test_a_cancel_that_is_not_heeded_ends_the_turn_and_its_late_end_is_not_shown(
    here: Here,
) -> None:
    here.say("t1")
    here.cancel()
    here.passes(GRACE_S - 1)
    here.cancel()  # a second one gives no more time
    assert here.core.ends == []
    here.passes(2)
    assert [(one["turn_id"], one["cancelled"]) for one in here.core.ends] == [("t1", True)]
    assert here.core.late == {"s": ["t1"]}
    assert here.passes(1) == []  # it was told already
    assert shown(here.say("t2")) == [("prompt", "t2")]
    here.text("t1", "late")
    here.answer("t1", "late")
    assert here.core.late == {"s": []}
    here.answer("t2", "new")
    assert [one["turn_id"] for one in here.core.ends] == ["t1", "t2"]
    assert "late" not in str(here.core.events)


@pytest.mark.parametrize("is_cancelled", [False, True])
@pytest.mark.proves("003-5-one-answer-for-a-prompt", "notes-4-two-answers-to-a-cancel")
def test_of_two_answers_the_first_counts(here: Here, is_cancelled: bool) -> None:
    here.say("t1")
    if is_cancelled:
        here.cancel()
    here.answer("t1", "first", reason="cancelled" if is_cancelled else "end_turn")
    here.answer("t1", "second")
    here.text("t1", "and more")
    (end,) = here.core.ends
    assert end["content"] == "first"
    assert end.get("cancelled", False) is is_cancelled
    assert here.core.events == [end]
    assert here.refused == []


# Returning


def test_what_the_device_has_not_spoken_of_may_go_out_again_under_the_same_id(here: Here) -> None:
    (before,) = here.say("t1")
    here.device.line_down()
    here.line_up()
    assert here.core.resumed[-1] == []
    (again,) = here.say("t1")
    assert again.msg_id == before.msg_id


@pytest.mark.parametrize("word", ["text", "tool"])
def test_what_it_has_spoken_of_is_known_and_not_prompted_again(here: Here, word: str) -> None:
    here.say("t1")
    here.text("t1") if word == "text" else here.tool("t1", "in_progress")
    here.device.line_down()
    here.line_up()
    assert here.core.resumed[-1] == ["t1"]
    assert here.say("t1") == []


def test_a_cancel_is_told_at_each_return_until_the_device_has_ended_the_turn(here: Here) -> None:
    here.say("t1")
    here.cancel()
    for _ in range(2):
        here.device.line_down()
        assert shown(here.line_up()) == [("cancel", "t1")]
    here.answer("t1", reason="cancelled")
    here.device.line_down()
    assert here.line_up() == []


def test_a_turn_that_is_being_cancelled_is_not_prompted_again(here: Here) -> None:
    here.say("t1")
    here.cancel()
    here.device.line_down()
    here.line_up()
    assert here.say("t1") == []


def test_nothing_is_sent_without_a_line(here: Here) -> None:
    here.say("t1")
    here.device.line_down()
    assert here.cancel() == []
    assert shown(here.line_up()) == [("cancel", "t1")]


def test_a_device_that_has_answered_a_later_prompt_runs_no_earlier_one(here: Here) -> None:
    here.say("t1")
    here.core.end("s", "t1")
    here.say("t2")
    here.answer("t2")
    assert [one.turn_id for one in here.core.of(actions.Settled)] == ["t1"]
    here.device.line_down()
    assert here.line_up() == []


def test_so_many_cancels_are_kept_for_a_return(here: Here) -> None:
    turns = [f"t{number}" for number in range(CANCELS_KEPT + 2)]
    for turn_id in turns:
        here.say(turn_id)
        here.core.end("s", turn_id)
    here.passes(1)
    here.device.line_down()
    assert shown(here.line_up()) == [("cancel", one) for one in turns[2:]]


# Repeats


@pytest.mark.proves("003-3-msg-id-is-idempotent", "003-5-repeated-msg-id-is-dropped")
def test_a_message_that_comes_again_with_its_id_is_taken_once(here: Here) -> None:
    here.say("t1")
    for _ in range(2):
        assert here.text("t1", "once", msg_id="a")
        assert here.tool("t1", "in_progress", msg_id="b")
    here.device.line_down()
    here.line_up()
    assert here.text("t1", "once", msg_id="a")  # it is known after a break too
    assert [one["type"] for one in here.core.events] == ["text_chunk", "tool_call_start"]


def test_a_broken_message_may_come_again_whole(here: Here) -> None:
    here.say("t1")
    with pytest.raises(Malformed):
        here.update(UpdatePayload("s", "t1", "tool_call"), {"msg_id": "a"})
    here.tool("t1", "in_progress", msg_id="a")
    assert [one["type"] for one in here.core.events] == ["tool_call_start"]


# What is not its own


@pytest.mark.parametrize(
    ("who", "refused"),
    [
        ({"guid": "other"}, ("device", "other")),
        ({"guid": "other", "user_id": "another"}, ("device", "other")),
        ({"user_id": "another"}, ("user", "another")),
        ({"session_id": "unknown"}, ("session", "unknown")),
        ({}, ("turn", "never")),
    ],
)
def test_what_is_not_this_devices_is_refused(
    here: Here, who: dict[str, str], refused: tuple[str, str]
) -> None:
    here.say("t1")
    assert not here.text("never", **who)
    here.answer("never", **who)
    assert here.refused == [refused, refused]
    assert here.core.events == []


@pytest.mark.parametrize("who", [{"guid": ""}, {"user_id": ""}, {"guid": "", "user_id": ""}])
@pytest.mark.proves("notes-4-empty-ids")
def test_where_a_message_names_nobody_the_line_s_own_device_is_meant(
    here: Here, who: dict[str, str]
) -> None:
    here.say("t1")
    assert here.text("t1", "so ", **who)
    assert here.tool("t1", "in_progress", **who)
    here.answer("t1", "so it is", **who)
    here.answer("t1", "again", **who)  # of a turn that is over
    assert [one["content"] for one in here.core.ends] == ["so it is"]
    assert here.refused == []


@pytest.mark.parametrize(
    ("who", "refused"),
    [
        ({"guid": "", "user_id": "another"}, ("user", "another")),
        ({"guid": "other", "user_id": ""}, ("device", "other")),
        ({"guid": "", "user_id": "", "session_id": "unknown"}, ("session", "unknown")),
    ],
)
def test_an_empty_name_proves_nothing_else(
    here: Here, who: dict[str, str], refused: tuple[str, str]
) -> None:
    here.say("t1")
    assert not here.text("t1", **who)
    assert here.refused == [refused]


# Sessions that end


def test_a_session_that_is_closed_ends_what_the_device_runs(here: Here) -> None:
    here.say("t1")
    here.core.end("s", "t1")
    here.core.late["s"] = ["t0"]
    assert shown(here.told(Stop("s", "user_closed"))) == [("cancel", "t1"), ("cancel", "t0")]
    assert [one.session_id for one in here.core.of(actions.Stopped)] == ["s"]


def test_a_turn_whose_late_end_came_before_the_stop_is_not_cancelled_again(here: Here) -> None:
    """The core may hear of that end only after it has decided to stop the session."""
    here.device.restore_late("s", "t1", None)
    assert shown(here.line_up()) == [("cancel", "t1")]
    here.answer("t1")
    here.core.late["s"] = ["t1"]
    assert here.told(Stop("s", "user_closed")) == []


@pytest.mark.parametrize("turn_id", ["t1", "t0"])
def test_late_words_of_a_closed_session_are_ignored(here: Here, turn_id: str) -> None:
    here.say("t0")
    here.answer("t0")
    here.say("t1")
    here.told(Stop("s", "user_closed"))
    events = list(here.core.events)
    for _ in range(2):
        assert here.text(turn_id)
        here.answer(turn_id)
    assert here.refused == []
    assert here.core.events == events


def test_a_session_that_comes_back_is_heard_and_its_unknown_turns_are_refused(here: Here) -> None:
    here.told(Stop("s", "timeout"))
    here.say("t2")
    assert here.text("t2")
    assert not here.text("never")
    assert here.refused == [("turn", "never")]


def test_a_message_for_a_session_that_has_just_gone_is_not_sent(here: Here) -> None:
    here.core.release("s")
    assert here.told(Say("s", "t1", "do it", [], {})) == []
    assert here.device.is_idle


# After a restart of the control plane


def _reborn(here: Here) -> Here:
    return Here(here.core, is_up=False)


def test_a_restored_turn_of_which_something_was_heard_goes_on_and_repeats_are_known(
    here: Here,
) -> None:
    here.say("t1")
    again = _reborn(here)
    again.device.restore("s", "t1")
    logged = read_logged('{"type":"text_chunk","content":"so ","turn_id":"t1","msg_id":"a"}')
    assert logged is not None
    again.device.recall("s", logged)
    assert again.line_up() == []
    assert again.core.resumed[-1] == ["t1"]
    again.passes(0)
    again.passes(RETURNED_SILENCE_S)
    assert again.text("t1", "so ", msg_id="a")
    again.answer("t1", "")
    (end,) = again.core.ends
    assert end.get("content") is None  # not all that was streamed is known


@pytest.mark.parametrize("is_whole", [True, False])
def test_an_answer_without_content_shows_what_was_streamed_if_all_of_it_is_known(
    here: Here, is_whole: bool
) -> None:
    here.say("t1")
    again = _reborn(here)
    again.device.restore("s", "t1")
    if is_whole:
        again.device.at_work.recall_whole("s", "t1")
    again.line_up()
    again.text("t1", "all of it")
    again.answer("t1", "")
    assert again.core.ends[0].get("content") == ("all of it" if is_whole else None)


def test_a_turn_that_ended_here_before_the_restart_is_cancelled_on_its_return(here: Here) -> None:
    again = _reborn(here)
    again.device.restore_late("s", "t1", "claude")
    (cancel,) = again.line_up()
    assert isinstance(cancel, Cancel)
    assert (cancel.payload.prompt_id, cancel.payload.agent_app) == ("t1", "claude")
    again.answer("t1")
    assert [one.turn_id for one in again.core.of(actions.Settled)] == ["t1"]
    assert again.core.ends == []
