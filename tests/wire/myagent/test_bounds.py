"""What a machine may write without end, and what is kept of it."""

import json

import pytest

from tests.wire.myagent.talk import END, SAID, Json, names, outward, shown
from trunkline.wire.myagent.outward import from_events, unshown
from trunkline.wire.myagent.outward_state import Underway

BARE_END: Json = {"type": "execution_complete", "turn_id": "t1"}


def piece(text: str) -> Json:
    return {"type": "text_chunk", "content": text, "turn_id": "t1"}


def test_an_answer_that_is_too_long_ends_where_it_was_cut() -> None:
    state = outward(text_chars_max=10)
    messages = shown(SAID, *map(piece, ("12345", "678901234", "x", "y")), BARE_END, state=state)
    assert [one["content"] for one in messages[:4]] == ["12345", "678901234", "x", "y"]
    assert messages[-1]["content"] == "1234567890", "no later piece behind a hole"
    assert messages[-1]["metadata"]["truncated"] is True


def test_an_answer_that_fits_is_not_marked() -> None:
    state = outward(text_chars_max=10)
    messages = shown(SAID, piece("12345"), piece("67890"), BARE_END, state=state)
    assert messages[-1]["content"] == "1234567890"
    assert "truncated" not in messages[-1]["metadata"]


def test_an_answer_that_the_end_has_itself_is_whole() -> None:
    state = outward(text_chars_max=10)
    end = shown(SAID, piece("x" * 50), END, state=state)[-1]
    assert (end["content"], "truncated" in end["metadata"]) == ("done", False)


def test_calls_under_one_name_are_bounded_and_the_oldest_is_forgotten_first() -> None:
    underway = Underway(10)
    for number in range(1500):
        underway.begin_call("tool", "same", "bash", f"step_{number}", None)
    ended = 0
    first = underway.end_call("tool", "same", "bash")
    while underway.end_call("tool", "same", "bash") is not None:
        ended += 1
    assert first is not None
    assert (first.step_id, ended) == ("step_500", 999)


def test_calls_of_several_names_end_in_their_own_order() -> None:
    underway = Underway(10)
    for name, step in (("a", "1"), ("b", "2"), ("a", "3")):
        underway.begin_call("tool", name, "bash", step, None)
    ended = [underway.end_call("tool", name, "bash") for name in ("b", "a", "a", "a")]
    assert [one and one.step_id for one in ended] == ["2", "1", "3", None]


def test_half_of_a_character_in_an_answer_object_does_not_hide_the_answer() -> None:
    messages = shown(SAID, {"type": "execution_complete", "content": {"a": "\ud800"}})
    assert (names(messages), messages[0]["content"]) == (["agent.final_answer"], '{"a":"?"}')


def test_an_end_that_cannot_be_shown_is_still_an_end() -> None:
    state = outward()
    shown(SAID, state=state)
    deep = "[" * 600 + "]" * 600
    details = f'{{"half": "\\ud800", "deep": {deep}}}'
    line = f'{{"type": "execution_error", "turn_id": "t1", "details": {details}}}'
    with pytest.raises(RecursionError):
        from_events(state, 2, line)
    (message,) = map(json.loads, unshown(state, line))
    assert (message["event"], message["metadata"]["turn_id"]) == ("agent.error", "t1")
    assert not state.underway.is_busy
    assert unshown(state, '{"type": "text_chunk", "content": "x"}') == []
    assert unshown(state, "nonsense") == []
