"""Turns whose end a deployed agent does not say, and what each of them has cost."""

import pytest

from tests.wire.core_by_hand import CoreByHand
from tests.wire.yeaft.agent_by_hand import (
    BUSY_SILENCE_S,
    GRACE_S,
    QUIET_S,
    RESUME_S,
    SILENCE_S,
    Here,
    Json,
    names,
    result,
    said,
)
from trunkline.wire import actions
from trunkline.wire.commands import Answer, Say
from trunkline.wire.events import SessionEvent
from trunkline.wire.yeaft.inward_state import DEPLOYED, DOCUMENTED

USED: Json = {"type": "context_usage", "conversationId": "s", "inputTokens": 5, "maxTokens": 9}
ENDED: Json = {"type": "turn_completed", "conversationId": "s"}
STREAMED: Json = {
    "type": "claude_output",
    "conversationId": "s",
    "data": {
        "type": "assistant",
        "message": {"role": "assistant", "content": []},
        "_finishStreaming": True,
    },
}
ASKED: Json = {"type": "ask_user_question", "conversationId": "s", "requestId": "q", "prompt": "?"}


def agent(dialect: str = DEPLOYED) -> Here:
    """An agent that has begun its turn."""
    made = Here(CoreByHand("s"))
    made.ready(dialect)
    made.say("t1")
    made.hears(said("half"))
    return made


def recalled(*tool_events: str) -> Here:
    """The same behind a restart of ours, with a tool's events, and its program is done."""
    here = Here(CoreByHand("s"), is_up=False)
    here.core.open("s", "t1")
    conversation = here.talk.conversation("s")
    conversation.recall({"machine_id": "m", "dialect": DEPLOYED})
    say = Say("s", "t1", "do t1", [], {})
    inward = here.talk.recall(say, is_cancelling=False, is_late=False)
    inward.recall(SessionEvent("text_chunk", content="half", turn_id="t1"))
    for kind in tool_events:
        inward.recall(SessionEvent(kind, tool_call_id="c", turn_id="t1"))
    inward.recall(SessionEvent("foreign", name="context_usage", turn_id="t1"))
    here.line_up()
    here.listed(s=True)
    here.synced()
    return here


def said_by(role: str, block: Json) -> Json:
    data = {"type": role, "message": {"role": role, "content": [block]}}
    return {"type": "claude_output", "conversationId": "s", "data": data}


def ends(here: Here) -> list[tuple[str, str]]:
    return [(one["type"], one["turn_id"]) for one in here.core.ends]


# An end that is not said


@pytest.mark.proves("notes-3-end-behind-context-usage")
def test_a_turn_has_ended_when_nothing_follows_its_context_usage() -> None:
    here = agent()
    here.hears(STREAMED)
    here.hears(USED)
    here.passes(1)
    here.passes(QUIET_S - 1)
    assert ends(here) == []
    here.passes(1)
    assert ends(here) == [("execution_complete", "t1")]
    assert here.core.ends[0]["content"] == "half"


def test_an_agent_that_lists_such_a_turn_as_its_work_has_ended_it_all_the_same() -> None:
    here = agent()
    here.hears(USED)
    here.listed(s=True)
    for _ in range(2):
        here.passes(QUIET_S)
    assert ends(here) == [("execution_complete", "t1")]


def test_the_next_message_goes_out_behind_an_end_that_was_not_said() -> None:
    here = agent()
    here.hears(USED)
    for _ in range(2):
        here.passes(QUIET_S)
    here.say("t2")
    assert here.says() == ["do t1", "do t2"]
    here.hears(said("more"))
    here.hears(result())
    here.hears(ENDED)
    assert ends(here) == [("execution_complete", "t1"), ("execution_complete", "t2")]


def test_a_turn_that_goes_on_behind_its_context_usage_has_not_ended() -> None:
    here = agent()
    here.hears(USED)
    here.passes(QUIET_S - 1)
    here.hears(said("more"))
    for _ in range(3):
        here.passes(QUIET_S)
    assert ends(here) == []


def test_a_turn_has_not_ended_while_its_question_waits() -> None:
    here = agent()
    here.hears(ASKED)
    here.hears(USED)
    for _ in range(3):
        here.passes(QUIET_S)
    assert ends(here) == []
    here.told(Answer("s", "q", confirmed=True))
    here.passes(QUIET_S - 1)
    assert ends(here) == []
    here.passes(1)
    assert ends(here) == [("execution_complete", "t1")]


@pytest.mark.parametrize("is_recalled", [False, True])
def test_a_turn_has_not_ended_while_its_tool_runs(is_recalled: bool) -> None:
    here = recalled("tool_call_start") if is_recalled else agent()
    if not is_recalled:
        here.hears(said_by("assistant", {"type": "tool_use", "id": "c", "name": "Bash"}))
        here.hears(USED)
    for _ in range(3):
        here.passes(QUIET_S)
    assert ends(here) == []
    here.hears(said_by("user", {"type": "tool_result", "tool_use_id": "c", "content": "done"}))
    here.hears(USED)
    for _ in range(2):
        here.passes(QUIET_S)
    assert ends(here) == [("execution_complete", "t1")]


def test_an_end_that_is_said_is_the_one_that_counts() -> None:
    here = agent()
    here.hears(USED)
    here.hears(result(subtype="error_max_turns", is_error=True))
    here.hears(ENDED)
    for _ in range(3):
        here.passes(QUIET_S)
    assert [(one["type"], one["code"]) for one in here.core.ends] == [
        ("execution_error", "TURN_LIMIT")
    ]


def test_a_result_without_its_end_is_that_turns_result() -> None:
    here = agent()
    here.hears(USED)
    here.hears(result(result="The whole of it."))
    for _ in range(2):
        here.passes(QUIET_S)
    assert [one["content"] for one in here.core.ends] == ["The whole of it."]


def test_a_context_usage_says_nothing_of_a_turn_that_has_not_begun() -> None:
    here = Here(CoreByHand("s"))
    here.ready(DEPLOYED)
    here.say("t1")
    here.hears(USED)
    for _ in range(3):
        here.passes(QUIET_S)
    assert ends(here) == []


def test_a_documented_agent_may_say_how_full_its_context_is_at_any_time() -> None:
    here = agent(DOCUMENTED)
    here.hears(USED)
    for _ in range(3):
        here.passes(QUIET_S)
    assert ends(here) == []


def stopped() -> Here:
    """An agent that did not heed a cancel, and was told the next message."""
    here = agent()
    here.cancel()
    here.passes(GRACE_S)
    here.say("t2")
    return here


def test_a_context_usage_behind_a_turn_that_was_ended_here_may_be_either_turns() -> None:
    here = stopped()
    here.hears(said("late or new"))
    here.hears(USED)
    for _ in range(4):
        here.passes(QUIET_S)
    assert ends(here)[1:] == [("execution_complete", "t2")]
    assert here.core.ends[1]["content"] == "late or new"


def test_words_behind_such_a_context_usage_are_the_next_turns() -> None:
    here = stopped()
    here.hears(said("late"))
    here.hears(USED)
    here.hears(said("new"))
    for _ in range(3):
        here.passes(QUIET_S)
    assert ends(here)[1:] == []
    here.hears(result())
    here.hears(ENDED)
    assert here.core.ends[1]["content"] == "new"


def test_an_error_before_the_context_usage_is_how_the_turn_ends() -> None:
    here = agent()
    here.hears({"type": "error", "conversationId": "s", "message": "no more credit"})
    here.hears(USED)
    for _ in range(2):
        here.passes(QUIET_S)
    assert [(one["type"], one["error"]) for one in here.core.ends] == [
        ("execution_error", "no more credit")
    ]


def test_an_end_that_was_not_said_before_a_restart_of_ours_is_one_behind_it() -> None:
    here = recalled("tool_call_start", "tool_call_complete")
    for _ in range(2):
        here.passes(QUIET_S)
    assert [(one["type"], one["content"]) for one in here.core.ends] == [
        ("execution_complete", "half")
    ]


def test_time_in_which_nobody_listens_is_no_silence() -> None:
    here = agent()
    here.hears(USED)
    here.passes(1)
    here.passes(QUIET_S, is_stalled=True)
    here.passes(1)
    assert ends(here) == []
    here.passes(QUIET_S)
    assert ends(here) == [("execution_complete", "t1")]


# A turn of which an agent that came back says nothing


def returned(here: Here) -> Here:
    here.again()
    here.synced()
    here.passes(RESUME_S)
    return here


BOTH = pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])


@BOTH
@pytest.mark.proves("notes-3-silent-turn")
def test_a_turn_of_which_an_agent_that_came_back_says_nothing_is_ended_and_cancelled(
    dialect: str,
) -> None:
    here = returned(agent(dialect))
    here.passes(1)
    assert here.passes(SILENCE_S - 2) == []
    assert ends(here) == []
    assert names(here.passes(2)) == ["cancel_execution"]
    assert [(one["type"], one["code"]) for one in here.core.ends] == [
        ("execution_error", "MACHINE_SILENT")
    ]
    assert here.core.late == {"s": ["t1"]}


def test_words_of_a_turn_that_was_given_up_are_not_the_next_ones() -> None:
    here = returned(agent())
    for _ in range(2):
        here.passes(SILENCE_S)
    here.say("t2")
    here.ready(DEPLOYED)
    here.hears({"type": "execution_cancelled", "conversationId": "s"})
    here.hears(said("new"))
    here.hears(result())
    here.hears(ENDED)
    assert ends(here) == [("execution_error", "t1"), ("execution_complete", "t2")]
    assert here.core.ends[-1]["content"] == "new"


@pytest.mark.parametrize("sign", ["words", "question"])
def test_an_agent_that_shows_that_it_is_at_its_turn_has_all_the_time(sign: str) -> None:
    here = agent()
    if sign == "question":
        here.hears(ASKED)
    returned(here)
    if sign == "words":
        here.hears(said("more"))
    for _ in range(3):
        here.passes(BUSY_SILENCE_S)
    assert ends(here) == []


def test_an_agent_that_lists_its_turn_as_its_work_has_more_time_but_not_all_of_it() -> None:
    here = returned(agent())
    here.listed(s=True)
    here.passes(BUSY_SILENCE_S - 1)
    assert ends(here) == []
    here.passes(1)
    assert ends(here) == [("execution_error", "t1")]


def test_a_question_that_was_answered_is_no_reason_to_be_silent() -> None:
    here = agent()
    here.hears(ASKED)
    returned(here)
    here.passes(SILENCE_S)
    here.told(Answer("s", "q", confirmed=True))
    for _ in range(2):
        here.passes(SILENCE_S)
    assert ends(here) == [("execution_error", "t1")]


def test_silence_is_counted_anew_on_every_line() -> None:
    here = returned(agent())
    here.passes(SILENCE_S - 1)
    returned(here)
    here.passes(SILENCE_S - 1)
    assert ends(here) == []


def test_an_agent_that_kept_its_line_may_be_silent() -> None:
    here = agent()
    for _ in range(3):
        here.passes(SILENCE_S)
    assert ends(here) == []


# What a turn has cost


def cost(here: Here, turn_id: str, total: float | None) -> float | None:
    """What a turn is said to have cost when the agent names this total."""
    here.say(turn_id)
    here.hears(said("x"))
    here.hears(result(total_cost_usd=total, usage={"input_tokens": 1}))
    here.hears(ENDED)
    used = [one for one in here.core.events if one["type"] == "usage"]
    assert used[-1]["turn_id"] == turn_id
    found: float | None = used[-1].get("cost_usd")
    return found


@pytest.mark.proves("notes-3-cost-is-the-difference")
def test_a_deployed_agents_total_grows_and_a_turn_costs_the_difference() -> None:
    here = Here(CoreByHand("s"))
    here.ready(DEPLOYED)
    assert cost(here, "t1", 0.01) == 0.01
    assert cost(here, "t2", 0.03) == 0.02
    assert cost(here, "t3", 0.03) == 0
    assert cost(here, "t4", None) is None
    assert cost(here, "t5", 0.04) == 0.01


def test_a_total_that_is_less_than_before_is_of_a_new_program() -> None:
    here = Here(CoreByHand("s"))
    here.ready(DEPLOYED)
    assert [cost(here, "t1", 0.5), cost(here, "t2", 0.2), cost(here, "t3", 0.3)] == [0.5, 0.2, 0.1]


def test_a_conversation_that_was_taken_up_anew_has_cost_nothing_yet() -> None:
    here = Here(CoreByHand("s"))
    here.ready(DEPLOYED)
    cost(here, "t1", 0.1)
    here.hears({"type": "conversation_resumed", "conversationId": "s"})
    assert cost(here, "t2", 0.4) == 0.4


def test_a_documented_agent_says_what_each_turn_cost() -> None:
    here = Here(CoreByHand("s"))
    here.ready(DOCUMENTED)
    assert [cost(here, "t1", 0.1), cost(here, "t2", 0.3)] == [0.1, 0.3]


def test_what_was_spent_before_a_restart_is_remembered() -> None:
    here = Here(CoreByHand("s"))
    here.ready(DEPLOYED)
    cost(here, "t1", 0.25)
    kept = here.core.of(actions.Remember)[-1].remote
    after = Here(CoreByHand("s"), is_up=False)
    after.talk.conversation("s").recall(kept)
    after.line_up()
    after.listed(s=False)
    after.synced()
    assert cost(after, "t2", 0.75) == 0.5
