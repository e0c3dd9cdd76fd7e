"""Ends that come late: an agent's words name no turn, and no turn may end for another."""

import json

import pytest

from tests.wire.yeaft.inward_talk import (
    ENDS,
    TURN,
    assistant,
    conversation,
    heard,
    lines,
    message,
    output,
    result,
    settled,
)
from trunkline.wire.yeaft.inward_state import Doubt, Inward

NEXT = "01a1de68-1870-7ed6-bf7b-0f808277ad3c"
FAILED = "error_during_execution"


def says(text: str) -> dict[str, object]:
    return assistant({"type": "text", "text": text})


def plain(state: Inward, text: str) -> list[str]:
    """As nearly all agents write it."""
    return lines(state, f"{state.plain_head}{json.dumps(text)}}}]}}}}}}")


def after_a_turn(dialect: str = "documented") -> Inward:
    """The next turn, behind one that has its end."""
    state = conversation(dialect)
    heard(state, says("a"))
    heard(state, result())
    if dialect == "deployed":
        heard(state, message("turn_completed"))
    state.begin(NEXT, "next")
    return state


def after_a_cancel(dialect: str) -> Inward:
    state = conversation(dialect)
    state.is_cancelling = True
    end = message("execution_cancelled") if dialect == "deployed" else result(FAILED)
    assert heard(state, end)[-1]["cancelled"] is True
    state.begin(NEXT, "next")
    return state


@pytest.mark.parametrize("is_plain", [True, False])
def test_a_second_result_of_a_turn_does_not_end_the_next(is_plain: bool) -> None:
    state = after_a_turn()
    assert heard(state, result(FAILED)) == []
    made = plain(state, "b") if is_plain else lines(state, json.dumps(says("b")))
    assert json.loads(made[0])["turn_id"] == NEXT
    (end,) = heard(state, result())
    assert end == {"type": "execution_complete", "content": "b", "turn_id": NEXT}


def test_a_turn_that_says_nothing_ends_at_once_if_it_is_well() -> None:
    (end,) = heard(after_a_turn(), result(result="done"))
    assert end == {"type": "execution_complete", "content": "done", "turn_id": NEXT}


def test_a_failure_that_nothing_follows_was_the_turns_own() -> None:
    state = after_a_turn()
    heard(state, result(FAILED))
    (end,) = settled(state)
    assert (end["type"], end["turn_id"]) == ("execution_error", NEXT)
    assert settled(state) == []


@pytest.mark.parametrize("late", [(result(),), (result(FAILED),), ()])
def test_ends_behind_a_cancel_do_not_end_the_next_turn(late: tuple[dict[str, object], ...]) -> None:
    state = after_a_cancel("deployed")
    for one in (*late, message("turn_completed")):
        assert heard(state, one) == []
    assert heard(state, says("b"))[0]["turn_id"] == NEXT
    heard(state, result())
    (end,) = heard(state, message("turn_completed"))
    assert end == {"type": "execution_complete", "content": "b", "turn_id": NEXT}


def test_the_next_turn_can_be_cancelled_before_it_has_said_anything() -> None:
    state = after_a_cancel("deployed")
    state.is_cancelling = True
    (end,) = heard(state, message("execution_cancelled"))
    assert (end["turn_id"], end["cancelled"]) == (NEXT, True)


@pytest.mark.parametrize("dialect", ["documented", "deployed"])
def test_what_a_turn_that_was_ended_here_still_says_is_not_the_next_ones(dialect: str) -> None:
    state = conversation(dialect)
    state.expect_late(Doubt.WORDS)
    state.begin(NEXT, "next")
    (late,) = heard(state, says("late"))
    assert late["type"] == "foreign"
    assert [json.loads(one)["type"] for one in plain(state, "later")] == ["foreign"]
    assert heard(state, result(FAILED)) == []
    if dialect == "deployed":
        assert heard(state, message("turn_completed")) == []
    assert heard(state, says("b"))[0]["content"] == "b"
    made = heard(state, result())
    made += heard(state, message("turn_completed")) if dialect == "deployed" else []
    (end,) = [one for one in made if one["type"] in ENDS]
    assert end == {"type": "execution_complete", "content": "b", "turn_id": NEXT}


def test_words_behind_which_nothing_comes_were_the_turns_own() -> None:
    """An agent that gave the earlier turn up in silence."""
    state = conversation()
    state.expect_late(Doubt.WORDS)
    state.begin(NEXT, "next")
    heard(state, says("b"))
    heard(state, result())
    (end,) = settled(state)
    assert end == {"type": "execution_complete", "content": "b", "turn_id": NEXT}


def test_an_end_that_comes_while_nothing_is_at_work_pays_what_was_owed() -> None:
    state = conversation(turn=None)
    state.expect_late(Doubt.WORDS)
    heard(state, result(FAILED))
    state.begin(NEXT, "next")
    assert heard(state, says("b"))[0]["type"] == "text_chunk"


@pytest.mark.parametrize("content", ["next", [{"type": "text", "text": "next"}]])
def test_a_prompt_that_comes_back_is_marked_and_begins_the_turn(content: object) -> None:
    state = conversation("deployed")
    state.expect_late(Doubt.WORDS)
    state.begin(NEXT, "next")
    heard(state, says("late"))
    (echo,) = heard(state, output(type="user", message={"role": "user", "content": content}))
    assert (echo["type"], echo["echo"], echo["turn_id"]) == ("foreign", True, NEXT)
    assert heard(state, says("b"))[0]["turn_id"] == NEXT
    heard(state, result())
    assert heard(state, message("turn_completed"))[0]["content"] == "b"


def test_other_words_of_a_user_are_no_echo() -> None:
    state = conversation()
    (found,) = heard(state, output(type="user", message={"role": "user", "content": "other"}))
    assert "echo" not in found


def test_an_error_that_nothing_follows_ends_the_turn_in_its_words() -> None:
    state = conversation()
    (remark,) = heard(state, message("error", message="no such conversation"))
    assert remark["type"] == "foreign"
    assert state.turn_id == TURN
    (end,) = settled(state)
    assert (end["type"], end["code"]) == ("execution_error", "AGENT_ERROR")
    assert (end["error"], end["turn_id"]) == ("no such conversation", TURN)


def test_an_error_in_the_middle_of_a_turn_is_a_remark() -> None:
    state = conversation()
    heard(state, message("error", message="oh"))
    plain(state, "but")
    assert settled(state) == []
    assert heard(state, result())[0]["content"] == "but"


def test_an_error_outside_of_turns_ends_nothing() -> None:
    state = conversation(turn=None)
    heard(state, message("error", message="oh"))
    assert settled(state) == []
