"""Which events are a turn's own, also where a machine names none, and what becomes of it."""

from typing import Any

import pytest

from trunkline.client import Event, TurnFailed
from trunkline.client.turns import Turn

Json = dict[str, Any]


def said(turn_id: str, **more: str) -> Json:
    return {"type": "user_message", "turn_id": turn_id, **more}


def text(content: str, **named: str) -> Json:
    return {"type": "text_chunk", "content": content, **named}


def end(content: str = "", **named: str) -> Json:
    return {"type": "execution_complete", "content": content, **named}


MINE, X = {"turn_id": "mine"}, {"turn_id": "x"}


@pytest.mark.parametrize(
    ("ahead", "events", "own", "answer"),
    [
        ([], [said("mine"), text("a", **MINE), end("a", **MINE)], 3, "a"),
        ([], [said("mine"), text("a"), text("b"), end()], 4, "ab"),
        ([], [said("mine"), said("x"), end("x", **X), end("mine", **MINE)], 2, "mine"),
        (["x"], [said("mine"), text("x"), end("x"), text("m"), end("m")], 3, "m"),
        (["x"], [said("mine"), end("x", **X), end("m")], 2, "m"),
        ([], [said("x"), said("mine"), end("x"), end("m")], 2, "m"),
        ([], [said("mine"), end("m", turn_id="t1")], 2, "m"),
        ([], [said("mine"), said("mine", steers="mine"), end("m", **MINE)], 3, "m"),
        ([], [text("x"), end("x"), said("mine"), text("m"), end("m")], 3, "m"),
        ([], [said("mine"), text("a")], 2, None),
    ],
    ids=[
        *("named", "unnamed", "another's", "one ahead", "one ahead, named", "one that came before"),
        *("a name that nobody knows", "steered", "what was before", "not over"),
    ],
)
def test_a_turn_takes_its_own_events_and_no_others_end(
    ahead: list[str], events: list[Json], own: int, answer: str | None
) -> None:
    turn = Turn("mine", ahead)
    assert sum(turn.take(Event(number, one)) for number, one in enumerate(events, 1)) == own
    assert turn.is_over == (answer is not None)
    if answer is not None:
        assert turn.answer().text == answer


def test_a_turn_that_failed_says_why_and_one_that_was_cancelled_that_it_was() -> None:
    turn = Turn("mine")
    turn.take(Event(1, said("mine")))
    turn.take(Event(2, {"type": "execution_error", "error": "no key", "code": "MODEL_KEY_MISSING"}))
    with pytest.raises(TurnFailed, match="no key") as caught:
        turn.answer()
    assert (caught.value.code, caught.value.turn_id) == ("MODEL_KEY_MISSING", "mine")
    turn = Turn("mine")
    turn.take(Event(1, said("mine")))
    turn.take(Event(2, {"type": "execution_complete", "cancelled": True}))
    assert turn.answer().is_cancelled
