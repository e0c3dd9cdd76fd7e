"""An agent whose line breaks: what it has goes on, what it lost ends, what it never got goes out
once."""

import pytest

from tests.wire.core_by_hand import CoreByHand
from tests.wire.yeaft.agent_by_hand import (
    BUSY_SILENCE_S,
    GRACE_S,
    QUIET_S,
    SILENCE_S,
    Here,
    names,
    result,
    said,
)
from trunkline.wire.commands import Cancel, Say
from trunkline.wire.yeaft.inward_state import DEPLOYED, DOCUMENTED

BOTH = pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])


@pytest.fixture
def here() -> Here:
    """An agent with a turn that it was told of."""
    made = Here(CoreByHand("s"))
    made.ready()
    made.say("t1")
    return made


def _returns(here: Here) -> None:
    here.again()
    here.synced()


def _is_told_again(here: Here, turn_id: str = "t1") -> bool:
    """Whether the core, after all that it was told, sends the turn to the agent again."""
    return turn_id not in here.core.resumed[-1]


def test_a_message_that_the_agent_says_it_is_not_at_is_said_again(here: Here) -> None:
    _returns(here)
    here.listed()
    assert here.core.resumed[1:] == [["t1"], []]
    assert names(here.say("t1")) == ["resume_conversation"]
    assert [one["text"] for one in here.ready()] == ["do t1"]


@pytest.mark.parametrize("sign", ["words", "busy"])
def test_a_message_that_the_agent_has_is_known(here: Here, sign: str) -> None:
    if sign == "words":
        here.hears(said("half"))
    here.again()
    if sign == "busy":
        here.listed(s=True)
    here.synced()
    assert here.core.resumed[-1] == ["t1"]
    assert here.core.ends == []


def _shows(here: Here, sign: str) -> None:
    here.hears(said("half")) if sign == "words" else here.listed(s=True)


@pytest.mark.parametrize("after_s", [0.0, 1.0, 3.0, 15.0, SILENCE_S - 1.0])
@pytest.mark.parametrize("sign", ["words", "busy"])
def test_a_message_that_the_agent_shows_to_have_only_behind_its_sync_is_known(
    here: Here, sign: str, after_s: float
) -> None:
    """Deployed agents may list what they are at only then, and a busy one much later."""
    _returns(here)
    for _ in range(2):
        here.passes(after_s / 2)
        assert not _is_told_again(here)
    _shows(here, sign)
    assert not _is_told_again(here)
    here.hears(result())
    assert [one["turn_id"] for one in here.core.ends] == ["t1"]
    assert here.says() == ["do t1"]


def test_a_message_that_nothing_says_whether_the_agent_has_is_not_said_again(here: Here) -> None:
    """Some agents never list what they are at. They may have begun it, and still end it."""
    _returns(here)
    here.passes(0)
    here.passes(SILENCE_S - 1)
    assert here.core.ends == []
    assert names(here.passes(1)) == ["cancel_execution"]
    (end,) = here.core.ends
    assert (end["type"], end["code"]) == ("execution_error", "DELIVERY_UNKNOWN")
    assert here.core.late == {"s": ["t1"]}
    assert not _is_told_again(here)
    assert here.says() == ["do t1"]


def test_a_message_that_the_agent_lists_as_its_work_is_waited_for_longer(here: Here) -> None:
    _returns(here)
    here.listed(s=True)
    here.passes(0)
    here.passes(BUSY_SILENCE_S - 1)
    assert here.core.ends == []
    here.passes(1)
    assert [one["code"] for one in here.core.ends] == ["MACHINE_SILENT"]


def test_another_conversation_does_not_wait_for_the_list(here: Here) -> None:
    _returns(here)
    here.core.open("other", "t2")
    assert names(here.say("t2", "other")) == ["create_conversation"]
    assert [one["text"] for one in here.ready(session_id="other")] == ["do t2"]


@pytest.mark.parametrize("sign", ["words", "busy"])
def test_a_message_that_the_agent_shows_to_have_at_the_last_moment_is_not_said_again(
    here: Here, sign: str
) -> None:
    """The core is about to say it again, since a list was without it."""
    _returns(here)
    here.listed()
    _shows(here, sign)
    assert here.say("t1") == []
    here.hears(result())
    assert [one["turn_id"] for one in here.core.ends] == ["t1"]


@pytest.mark.parametrize("is_first", [True, False], ids=["before sync", "behind sync"])
def test_a_message_that_it_once_listed_as_its_work_is_not_said_again(
    here: Here, is_first: bool
) -> None:
    """Its words were lost with the line, and perhaps its end."""
    here.listed(s=True)
    here.again()
    if is_first:
        here.listed(s=False)
        here.synced()
    else:
        here.synced()
        here.listed(s=False)
    assert here.core.resumed[-1] == ["t1"]
    assert [one["code"] for one in here.core.ends] == ["MACHINE_RESTARTED"]


@pytest.mark.parametrize("conversations", [{}, {"s": False}], ids=["unlisted", "at rest"])
def test_a_late_list_without_a_message_is_not_waited_behind(
    here: Here, conversations: dict[str, bool]
) -> None:
    _returns(here)
    here.passes(15)
    here.listed(**conversations)
    assert here.core.resumed[-1] == []
    here.say("t1")
    here.ready()
    assert here.says() == ["do t1", "do t1"]


def test_what_was_waited_for_on_a_line_that_broke_is_waited_for_anew(here: Here) -> None:
    _returns(here)
    here.passes(0)
    here.passes(SILENCE_S - 1)
    here.again()
    here.passes(SILENCE_S)
    here.listed(s=True)
    here.synced()
    assert here.core.resumed[-1] == ["t1"]
    assert here.core.ends == []


def test_a_message_of_a_conversation_that_is_being_created_goes_out_once_on_a_line() -> None:
    """It waited when the line broke; on the next one the core tells it again, and what waited
    before must not go out besides."""
    here = Here(CoreByHand("s"))
    here.say("t1")
    here.again()
    assert names(here.synced()) == ["create_conversation"]
    assert here.ready() == []  # the core has yet to say it again
    assert here.core.resumed[-1] == []
    assert names(here.say("t1")) == ["send_message"]
    assert here.says() == ["do t1"]


def test_a_message_that_comes_before_the_agent_is_synced_is_not_dropped(here: Here) -> None:
    """The core waits for an agent's first words only for so long."""
    here.hears(result())
    here.again()
    assert names(here.say("t2")) == ["resume_conversation"]
    assert here.synced() == []
    assert names(here.ready()) == ["send_message"]


def test_a_cancel_that_may_have_been_lost_goes_out_again_and_has_its_time(here: Here) -> None:
    here.cancel()
    _returns(here)
    assert here.core.resumed[-1] == ["t1"]
    assert names(here.cancel()) == ["cancel_execution"]
    here.passes(GRACE_S)
    assert [one["cancelled"] for one in here.core.ends] == [True]


def test_a_conversation_that_cannot_be_resumed_is_created_anew(here: Here) -> None:
    _returns(here)
    here.listed()
    here.say("t1")
    error = {"type": "error", "conversationId": "s", "message": "not found"}
    assert names(here.hears(error)) == ["create_conversation"]
    assert here.core.ends == []
    assert names(here.ready()) == ["send_message"]


def test_a_conversation_that_the_agent_lists_is_not_resumed(here: Here) -> None:
    """A deployed agent stops what runs in a conversation that it is told to resume."""
    here.hears(result())
    here.again()
    here.listed(s=False)
    here.synced()
    assert names(here.say("t2")) == ["send_message"]


def test_only_the_first_message_of_a_line_takes_a_conversation_up(here: Here) -> None:
    here.hears(result())
    _returns(here)
    here.say("t2")
    here.ready()
    here.hears(result())
    assert names(here.say("t3")) == ["send_message"]


# What it says that it is at


@pytest.mark.parametrize("conversations", [{}, {"s": False}], ids=["unlisted", "at rest"])
@pytest.mark.parametrize("is_first", [True, False], ids=["before sync", "behind sync"])
def test_a_turn_that_it_had_begun_and_does_not_have_any_more_is_lost(
    here: Here, conversations: dict[str, bool], is_first: bool
) -> None:
    here.hears(said("begun"))
    here.again()
    here.hears(said(" and kept"))  # it was said before the agent's program was lost
    if is_first:
        here.listed(**conversations)
        here.synced()
    else:
        here.synced()
        here.listed(**conversations)
    (end,) = here.core.ends
    assert (end["type"], end["code"]) == ("execution_error", "MACHINE_RESTARTED")


def test_a_lost_turn_that_was_stopped_counts_as_stopped(here: Here) -> None:
    here.hears(said("begun"))
    here.cancel()
    _returns(here)
    here.listed()
    assert [one["cancelled"] for one in here.core.ends] == [True]


def test_a_turn_that_a_late_list_has_goes_on_and_only_the_first_list_counts(here: Here) -> None:
    here.hears(said("begun"))
    _returns(here)
    here.listed(s=True)
    here.listed()
    here.hears(result())
    assert [one["content"] for one in here.core.ends] == ["begun"]


@pytest.mark.parametrize("conversations", [{}, {"s": False}], ids=["unlisted", "at rest"])
def test_a_turn_that_speaks_on_the_same_line_outlives_a_late_list(
    here: Here, conversations: dict[str, bool]
) -> None:
    here.hears(said("begun, "))
    _returns(here)
    here.hears(said("still here, "))
    here.listed(**conversations)
    here.hears(said("done"))
    here.hears(result())
    assert [one["content"] for one in here.core.ends] == ["begun, still here, done"]


def test_an_end_in_two_parts_is_not_cut_by_a_list_between_them() -> None:
    here = Here(CoreByHand("s"))
    here.ready(DEPLOYED)
    here.say("t1")
    here.hears(said("all of it"))
    _returns(here)
    here.hears(result())
    here.listed(s=False)
    here.hears({"type": "turn_completed", "conversationId": "s"})
    assert [one["content"] for one in here.core.ends] == ["all of it"]


# Ends that are in doubt


def _fails(here: Here) -> None:
    here.hears({"type": "error", "conversationId": "s", "message": "no such thing"})
    here.passes(1)  # it is seen


def test_a_turn_that_is_answered_with_an_error_ends_when_nothing_follows(here: Here) -> None:
    _fails(here)
    assert here.core.ends == []
    here.passes(QUIET_S)
    (end,) = here.core.ends
    assert (end["code"], end["error"]) == ("AGENT_ERROR", "no such thing")
    assert names(here.say("t2")) == ["send_message"]


@pytest.mark.parametrize("sign", ["words", "busy"])
def test_a_turn_that_goes_on_behind_an_error_does_not_end(here: Here, sign: str) -> None:
    _fails(here)
    here.hears(said("but")) if sign == "words" else here.listed(s=True)
    for _ in range(3):
        here.passes(QUIET_S)
    assert here.core.ends == []


@pytest.mark.parametrize("is_listed_again", [False, True])
def test_that_the_agent_was_busy_before_an_end_in_doubt_does_not_hold_that_up(
    here: Here, is_listed_again: bool
) -> None:
    """Some list what they are at only once on a line."""
    here.again()
    here.listed(s=True)
    here.synced()
    here.cancel()
    here.hears(result())  # a cancelled turn may be ended a second time
    here.say("t2")
    here.hears(result())  # so whose end is this?
    if is_listed_again:
        here.listed(s=True)
    here.passes(1)
    here.passes(QUIET_S)
    ended = [one["turn_id"] for one in here.core.ends]
    assert ended == (["t1"] if is_listed_again else ["t1", "t2"])


def test_a_turn_that_was_ended_here_is_left_for_the_next(here: Here) -> None:
    here.core.end("s", "t1")
    here.passes(1)
    assert names(here.say("t2")) == ["send_message"]
    here.hears(said("new"))
    here.hears(result())
    assert [(one["turn_id"], one["content"]) for one in here.core.ends] == [("t2", "new")]


# After a restart of the control plane


def _reborn(here: Here, *, is_cancelling: bool = False, is_late: bool = False) -> Here:
    again = Here(here.core, is_up=False)
    again.talk.conversation("s").recall({"machine_id": "m", "session_id": "own"})
    say = Say("s", "t1", "do t1", [], {})
    again.talk.recall(say, is_cancelling=is_cancelling, is_late=is_late)
    again.line_up()
    return again


def test_what_an_agent_kept_while_nobody_listened_is_of_its_turn(here: Here) -> None:
    again = _reborn(here)
    again.hears(said("Hello"))
    again.hears(result())
    again.synced()
    assert [(one["turn_id"], one["content"]) for one in again.core.ends] == [("t1", "Hello")]
    assert again.core.resumed[-1] == []


def test_a_turn_that_it_is_busy_with_is_known(here: Here) -> None:
    again = _reborn(here)
    again.listed(s=True)
    again.synced()
    assert again.core.resumed[-1] == ["t1"]


def test_a_cancel_is_not_forgotten(here: Here) -> None:
    again = _reborn(here, is_cancelling=True)
    again.synced()
    assert again.core.resumed[-1] == ["t1"]
    assert names(again.told(Cancel("s", "enough"))) == ["cancel_execution"]
    again.hears({"type": "execution_cancelled", "conversationId": "s"})
    assert [one["cancelled"] for one in again.core.ends] == [True]


def test_behind_a_turn_that_was_ended_here_words_may_be_its_own(here: Here) -> None:
    again = _reborn(here, is_late=True)
    again.synced()
    again.hears(said("whose?"))
    assert "text_chunk" not in str(again.core.events)
