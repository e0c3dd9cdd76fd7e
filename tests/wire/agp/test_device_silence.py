"""How long a device may say nothing of a turn, and what its line has to do with it."""

from typing import Any

import pytest

from tests.wire.agp.device_by_hand import RETURNED_SILENCE_S, SILENCE_S, Here, shown
from trunkline.wire.agp.device import DEVICE_SILENT


@pytest.fixture
def here() -> Here:
    return Here()


def test_a_turn_of_which_the_device_says_nothing_more_ends(here: Here) -> None:
    here.say("t1")
    here.passes(0)
    here.passes(SILENCE_S)
    assert here.core.ends == []
    here.passes(1)
    assert [(one["turn_id"], one["code"]) for one in here.core.ends] == [("t1", DEVICE_SILENT)]
    assert shown(here.passes(1)) == [("cancel", "t1")]


@pytest.mark.parametrize("sign", ["text", "tool"])
def test_a_word_starts_the_wait_afresh(here: Here, sign: str) -> None:
    here.say("t1")
    here.passes(0)
    here.passes(SILENCE_S - 1)
    here.text("t1") if sign == "text" else here.tool("t1", "in_progress")
    here.passes(2)
    here.passes(SILENCE_S - 1)
    assert here.core.ends == []


def _returns(here: Here) -> list[Any]:
    here.device.line_down()
    here.passes(1)
    return here.line_up()


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.proves("notes-4-lost-answer")
def test_a_turn_that_stays_silent_after_the_line_came_back_has_lost_its_answer(
    here: Here, is_heard: bool
) -> None:
    """Told again or not: the app drops a prompt that it has seen."""
    (before,) = here.say("t1")
    if is_heard:
        here.text("t1")
    _returns(here)
    assert here.say("t1") == ([] if is_heard else [before])
    here.passes(0)
    here.passes(RETURNED_SILENCE_S)
    assert here.core.ends == []
    here.passes(1)
    (end,) = here.core.ends
    assert (end["turn_id"], end["code"]) == ("t1", DEVICE_SILENT)
    assert "90 s after its line came back" in end["error"]
    assert shown(here.passes(1)) == [("cancel", "t1")]
    assert shown(here.say("t2")) == [("prompt", "t2")]


def test_a_word_after_the_return_shows_that_the_turn_goes_on(here: Here) -> None:
    here.say("t1")
    here.text("t1", "before")
    _returns(here)
    here.passes(RETURNED_SILENCE_S - 1)
    here.text("t1", "after")
    here.passes(1)
    here.passes(SILENCE_S)
    assert here.core.ends == []
    here.passes(1)
    assert "600 s" in here.core.ends[0]["error"]
    assert "came back" not in here.core.ends[0]["error"]


def test_what_was_first_said_after_the_return_has_all_the_time(here: Here) -> None:
    _returns(here)
    here.say("t1")
    here.passes(0)
    here.passes(SILENCE_S)
    assert here.core.ends == []


def test_each_return_starts_the_wait_afresh(here: Here) -> None:
    here.say("t1")
    for _ in range(3):
        _returns(here)
        here.passes(0)
        here.passes(RETURNED_SILENCE_S)
    assert here.core.ends == []


@pytest.mark.parametrize("why", ["away", "stalled"])
def test_how_long_it_is_away_or_not_listened_to_is_not_its_silence(here: Here, why: str) -> None:
    here.say("t1")
    here.passes(0)
    if why == "away":
        here.device.line_down()
    here.passes(SILENCE_S + 1, is_stalled=why == "stalled")
    here.passes(SILENCE_S + 1, is_stalled=why == "stalled")
    assert here.core.ends == []
