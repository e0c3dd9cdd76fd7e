"""How an agent is talked to: in order, once, and not for ever. Without a socket."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.wire.core_by_hand import CoreByHand
from tests.wire.yeaft.agent_by_hand import (
    BOUNDS,
    GRACE_S,
    RESUME_S,
    START_S,
    Here,
    names,
    result,
    said,
    start_of,
)
from trunkline.wire import actions
from trunkline.wire.commands import Answer, Configure, Forward, Stop
from trunkline.wire.errors import Malformed
from trunkline.wire.yeaft.inward_state import DEPLOYED, DOCUMENTED

BOTH = pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])
SAYS = {DOCUMENTED: "send_message", DEPLOYED: "execute"}


@pytest.fixture
def here() -> Here:
    """An agent that was told to create its session."""
    return Here(CoreByHand("s"))


# Beginning


@BOTH
@pytest.mark.proves("notes-3-first-answer-tells")
def test_nothing_but_create_is_said_before_the_agent_has_answered_it(dialect: str) -> None:
    here = Here()
    here.core.open("s", "t1")
    assert names(here.told(start_of("s"))) == ["create_conversation"]
    assert here.say("t1") == []
    (message,) = here.ready(dialect)
    assert message["type"] == SAYS[dialect]  # in the words that the answer told


def test_a_session_that_was_made_while_the_agent_was_away_is_created() -> None:
    here = Here(CoreByHand("s"), is_up=False)
    here.line_up()
    assert names(here.synced()) == ["create_conversation"]
    here.ready()
    assert names(here.say("t1")) == ["send_message"]


def test_a_start_that_comes_twice_creates_once() -> None:
    """The core's own, and the one that the agent's return asks for."""
    here = Here(CoreByHand("s"), is_up=False, fetches=False)
    here.line_up()
    assert here.synced() == []
    assert names(here.told(start_of("s"))) == ["create_conversation"]
    assert here.fetched() == []
    assert here.told(start_of("s")) == []


def test_a_start_that_was_asked_for_on_an_earlier_line_is_not_used() -> None:
    here = Here(CoreByHand("s"), is_up=False, fetches=False)
    here.line_up()
    here.synced()
    here.again()
    assert here.fetched() == []
    here.synced()
    assert names(here.fetched()) == ["create_conversation"]


def test_a_conversation_that_does_not_start_fails_its_messages_and_is_tried_again(
    here: Here,
) -> None:
    here.say("t1")
    assert here.core.of(actions.Wake)[-1].at_s == START_S
    here.passes(START_S)
    (end,) = here.core.ends
    assert (end["turn_id"], end["code"]) == ("t1", "SESSION_START_TIMEOUT")
    assert names(here.say("t2")) == ["create_conversation"]
    here.ready()
    assert here.says() == ["do t2"]


def test_a_conversation_that_the_agent_refuses_is_not_waited_for(here: Here) -> None:
    here.say("t1")
    here.hears({"type": "error", "conversationId": "s", "message": "no such folder"})
    (end,) = here.core.ends
    assert (end["code"], end["error"]) == ("SESSION_START_FAILED", "no such folder")
    assert here.says() == []


@pytest.mark.parametrize("is_listed", [False, True])
def test_what_is_remembered_of_a_conversation_is_what_its_agent_calls_it(
    here: Here, is_listed: bool
) -> None:
    here.ready(workDir="/srv/x", provider="copilot", sessionId="own")
    (kept,) = here.core.of(actions.Remember)
    assert kept.remote == {
        "machine_id": "m",
        "session_id": "own",
        "dialect": DOCUMENTED,
        "work_dir": "/srv/x",
        "provider": "copilot",
        "spent_usd": 0.0,
    }
    again = Here(here.core, is_up=False)
    again.talk.conversation("s").recall(kept.remote)
    again.line_up()
    if is_listed:
        again.listed(s=False)
    assert again.synced() == []
    first, *_ = again.say("t1")
    assert first["type"] == ("send_message" if is_listed else "resume_conversation")


@pytest.mark.parametrize("remote", [None, 7, {}, {"machine_id": "other", "session_id": "own"}])
def test_what_another_agent_called_it_means_nothing(remote: Any) -> None:
    here = Here(CoreByHand("s"), is_up=False)
    here.talk.conversation("s").recall(remote)
    here.line_up()
    assert names(here.synced()) == ["create_conversation"]


@pytest.mark.parametrize("broken", [{}, {"conversationId": 7}])
def test_a_broken_answer_to_a_start_is_refused(here: Here, broken: dict[str, Any]) -> None:
    here.say("t1")
    with pytest.raises(Malformed):
        here.hears({"type": "session_ready", **broken}, "s")
    assert here.says() == []


# One turn at a time


@BOTH
def test_a_turn_ends_with_the_agents_words_and_the_next_goes_out(here: Here, dialect: str) -> None:
    here.ready(dialect)
    here.say("t1")
    here.hears(said("all of it"))
    here.hears(result())
    if dialect == DEPLOYED:
        assert here.core.ends == []
        here.hears({"type": "turn_completed", "conversationId": "s"})
    assert [(one["turn_id"], one["content"]) for one in here.core.ends] == [("t1", "all of it")]
    assert names(here.say("t2")) == [SAYS[dialect]]


def test_messages_that_pass_do_not_overtake_those_that_wait(here: Here) -> None:
    here.ready()
    here.again()
    here.synced()
    assert names(here.say("t1")) == ["resume_conversation"]
    assert here.forward(1) == here.forward(2) == []
    told = here.ready()
    assert [one.get("text", one.get("n")) for one in told] == ["do t1", 1, 2]
    here.hears(result())
    assert names(here.say("t2")) == ["send_message"]


def test_a_message_of_no_session_passes_at_once_and_one_of_another_protocol_never(
    here: Here,
) -> None:
    here.say("t1")
    assert [one["n"] for one in here.forward(1, "")] == [1]
    assert here.told(Forward("", "agp", "{}")) == []


def test_new_parameters_have_no_word_on_this_wire(here: Here) -> None:
    here.ready()
    assert here.told(Configure("s", {"model": "m"})) == []


# Bounds of what waits


@pytest.mark.parametrize("bound", [{"forwards_max": 2}, {"forwards_chars_max": 300}])
def test_what_waits_for_a_conversation_is_bounded_and_the_rest_is_told(
    bound: dict[str, int],
) -> None:
    here = Here(CoreByHand("s"), bounds=replace(BOUNDS, **bound))
    for number in range(3):
        here.forward(number, chars=100)
    (problem,) = here.core.of(actions.Warn)
    assert problem.problem == "a message was not passed on: too much waits for the agent"
    assert [one["n"] for one in here.ready()] == [0, 1]


def test_what_waits_in_all_conversations_of_an_agent_is_bounded_together() -> None:
    bounds = replace(BOUNDS, forwards_chars_max=200)
    here = Here(CoreByHand("one", "two", "ready"), bounds=bounds)
    here.ready(session_id="ready")
    here.forward(1, "one", chars=100)
    here.forward(2, "two", chars=100)
    assert [one.session_id for one in here.core.of(actions.Warn)] == ["two"]
    assert len(here.forward(3, "ready", chars=1_000)) == 1  # it does not wait for another


def test_messages_for_a_conversation_that_does_not_start_are_told_as_lost(here: Here) -> None:
    here.forward(1)
    here.hears({"type": "error", "conversationId": "s", "message": "no such folder"})
    (problem,) = here.core.of(actions.Warn)
    assert problem.problem == "a message was not passed on: no such folder"


# Cancels


def test_a_message_to_a_conversation_that_starts_is_taken_back(here: Here) -> None:
    here.say("t1")
    assert here.cancel() == []
    assert [one["cancelled"] for one in here.core.ends] == [True]
    here.ready()
    here.say("t2")
    assert here.says() == ["do t2"]


def test_a_cancel_with_no_active_turn_is_nothing(here: Here) -> None:
    here.ready()
    assert here.cancel() == []


@BOTH
def test_a_cancel_that_the_agent_does_not_follow_ends_the_turn_here(
    here: Here, dialect: str
) -> None:
    here.ready(dialect)
    here.say("t1")
    assert names(here.cancel()) == ["cancel_execution"]
    assert here.core.of(actions.Wake)[-1].at_s == GRACE_S
    here.passes(GRACE_S - 1)
    here.cancel()  # a second one gives no more time
    assert here.core.ends == []
    here.passes(1)
    assert [one["cancelled"] for one in here.core.ends] == [True]
    assert here.core.late == {"s": ["t1"]}
    assert names(here.say("t2")) == [SAYS[dialect]]


def test_the_time_for_a_cancel_is_the_turns_own(here: Here) -> None:
    here.ready()
    here.say("t1")
    here.cancel()
    here.hears(result())
    here.say("t2")
    here.passes(GRACE_S - 1)
    here.cancel()
    here.passes(2)
    assert [one["turn_id"] for one in here.core.ends] == ["t1"]
    here.passes(GRACE_S)
    assert [one["turn_id"] for one in here.core.ends] == ["t1", "t2"]


# Questions


def test_an_answer_goes_out_under_the_names_that_the_agent_wants(here: Here) -> None:
    here.ready()
    here.say("t1")
    asked = {"type": "ask_user_question", "conversationId": "s", "requestId": "q"}
    here.hears({**asked, "questions": [{"question": "Which?"}]})
    (answer,) = here.told(Answer("s", "q", True, "this"))
    assert (answer["type"], answer["answers"]) == ("ask_user_answer", {"Which?": "this"})


@pytest.mark.parametrize("how", ["cancelled", "ended here", "followed"])
def test_a_question_of_a_turn_that_was_ended_here_is_answered_with_no(here: Here, how: str) -> None:
    """No agent gives up: it would wait for ever, and the next message behind it."""
    here.ready()
    here.say("t1")
    asked = {"type": "ask_user_question", "conversationId": "s", "requestId": "q", "prompt": "?"}
    here.hears(asked)
    if how == "cancelled":
        here.cancel()
        here.passes(GRACE_S)
    else:
        here.core.end("s", "t1")
    told = here.say("t2") if how == "followed" else here.passes(1)
    assert (told[0]["type"], told[0]["requestId"]) == ("ask_user_answer", "q")
    assert told[0]["confirmed"] is False
    assert names(here.passes(1)) == []


def test_a_question_that_has_its_answer_is_not_answered_with_no_besides(here: Here) -> None:
    here.ready()
    here.say("t1")
    asked = {"type": "ask_user_question", "conversationId": "s", "requestId": "q", "prompt": "?"}
    here.hears(asked)
    here.told(Answer("s", "q", True))
    here.core.end("s", "t1")
    assert here.passes(1) == []


@pytest.mark.parametrize(
    "broken", [{"requestId": ""}, {"requestId": "q" * 201}, {"prompt": "?" * 500}]
)
def test_a_question_that_is_too_long_or_has_no_name_is_refused(
    here: Here, broken: dict[str, str]
) -> None:
    here.ready()
    here.say("t1")
    asked = {"type": "ask_user_question", "conversationId": "s", "requestId": "q"}
    with pytest.raises(Malformed):
        here.hears({**asked, **broken})
    assert "approval_request" not in str(here.core.events)


def test_a_question_has_its_time_and_of_too_many_the_oldest_is_due(here: Here) -> None:
    here.ready()
    here.say("t1")
    asked = {"type": "ask_user_question", "conversationId": "s", "prompt": "?"}
    questions = here.talk.state.questions
    for number in range(4):
        here.hears({**asked, "requestId": f"q{number}"})
    assert questions.overdue(here.ms) == [("s", "q0")]
    assert questions.overdue(here.ms) == []  # until as long has passed again
    questions.forget("s", "q0")
    here.passes(299)
    here.hears({**asked, "requestId": "q1"})  # asked again, it keeps its time
    assert questions.overdue(here.ms) == []
    here.passes(1)
    assert questions.overdue(here.ms) == [("s", "q1"), ("s", "q2"), ("s", "q3")]
    here.hears(result())  # nobody waits for the answers of a turn that is over
    here.passes(301)
    assert questions.overdue(here.ms) == []


# Sessions that end


@pytest.mark.parametrize("how", ["answer", "time"])
def test_a_session_is_stopped_when_the_agent_says_so_or_had_the_time(here: Here, how: str) -> None:
    here.ready()
    here.core.close("s")
    assert names(here.told(Stop("s", "user_closed"))) == ["delete_conversation"]
    here.passes(GRACE_S - 1)
    assert here.core.of(actions.Stopped) == []
    if how == "answer":
        here.hears({"type": "conversation_deleted", "conversationId": "s"})
    else:
        here.passes(1)
    assert here.core.open_sessions() == []
    here.passes(GRACE_S)
    assert len(here.core.of(actions.Stopped)) == 1
    assert here.talk.by_head == {}


def test_a_conversation_whose_program_has_ended_is_taken_up_by_its_next_message(
    here: Here,
) -> None:
    here.ready()
    here.say("t1")
    closed = {"type": "conversation_closed", "conversationId": "s", "exitCode": 1}
    here.hears({"type": "error", "conversationId": "s", "message": "spawn failed"})
    here.hears(closed)
    (end,) = here.core.ends
    assert (end["code"], end["error"], end["exit_code"]) == ("SESSION_CRASHED", "spawn failed", 1)
    assert names(here.say("t2")) == ["resume_conversation"]
    assert names(here.ready()) == ["send_message"]


def test_an_agent_that_does_not_answer_resume_gets_its_message_a_moment_later(
    here: Here,
) -> None:
    here.ready()
    here.again()
    here.synced()
    assert names(here.say("t1")) == ["resume_conversation"]
    assert here.passes(RESUME_S - 1) == []
    assert names(here.passes(1)) == ["send_message"]


def test_what_has_happened_in_time_is_not_waited_for_any_more(here: Here) -> None:
    assert here.talk.due_s() == START_S
    here.ready()
    assert here.talk.due_s() is None
    here.say("t1")
    here.cancel()
    assert here.talk.due_s() == GRACE_S
    here.hears(result())
    assert here.talk.due_s() is None
    here.told(Stop("s", "user_closed"))
    assert here.talk.due_s() == GRACE_S
    here.hears({"type": "conversation_deleted", "conversationId": "s"})
    assert here.talk.due_s() is None
