"""What may be joined, what may not, and what is made of an event that is too large."""

import json
from typing import Any

import pytest

from tests.unit.execution.ws.machine import event, text
from trunkline import limits
from trunkline.execution.ws.events import JOINED_CHARS_MAX, Event, cut


def joined(*pieces: str) -> list[Any]:
    """What becomes of these events when each is offered to the one before."""
    events: list[Event] = []
    for piece in pieces:
        one = Event(piece)
        if not (events and events[-1].join(one)):
            events.append(one)
    return [json.loads(one.text) for one in events]


@pytest.mark.parametrize("kind", ["text_chunk", "thinking", "tool_call_progress"])
def test_pieces_of_one_text_become_one_event(kind: str) -> None:
    pieces = [
        event(kind, content=one, turn_id="t", stage="reasoning") for one in ("a", "b\n", "好")
    ]
    expected = {"type": kind, "content": "ab\n好", "turn_id": "t", "stage": "reasoning"}
    assert joined(*pieces) == [expected]


@pytest.mark.parametrize("stage", ["model", "replan", "memory", "acp"])
def test_news_of_the_model_are_sentences_and_none_runs_into_the_next(stage: str) -> None:
    told = ["The local model is ready.", "Answered by a very small model."]
    events = [event("thinking", content=one, turn_id="t", stage=stage) for one in told]
    assert [one["content"] for one in joined(*events)] == told


def test_the_time_of_the_first_piece_is_the_time_of_the_whole() -> None:
    assert joined(text("a", ts=1), text("b", ts=2)) == [
        {"type": "text_chunk", "content": "ab", "turn_id": "t-1", "ts": 1}
    ]


@pytest.mark.parametrize(
    "other",
    [
        text("b", turn_id="t-2"),
        text("b", agent="helper"),
        event("text_chunk", content="b"),
        event("thinking", content="b", turn_id="t-1"),
        event("text_chunk", content=["b"], turn_id="t-1"),
        event("text_chunk", turn_id="t-1"),
        event("tool_call_start", tool_name="bash", turn_id="t-1"),
        event("execution_complete", content="b", turn_id="t-1"),
        '{"type": "text_chunk", "content": "b", "turn_id": "t-1"',
        '["text_chunk"]',
        '"text_chunk"',
        "",
    ],
)
def test_what_differs_in_more_than_its_text_stays_an_event_of_its_own(other: str) -> None:
    first, second = Event(text("a")), Event(other)
    assert not first.join(second)
    assert not second.join(first)
    assert (first.text, second.text) == (text("a"), other)


def test_an_event_that_was_not_joined_goes_as_it_came() -> None:
    odd = '{ "type":"text_chunk",\n"content":"a", "extra": 1.0 }'
    assert Event(odd).text == odd


def test_text_that_quotes_the_name_of_another_event_is_still_text() -> None:
    assert joined(text('"execution_complete"'), text("!")) == [
        {"type": "text_chunk", "content": '"execution_complete"!', "turn_id": "t-1"}
    ]


def test_joined_text_has_a_bound() -> None:
    half = text("x" * (JOINED_CHARS_MAX // 2))
    assert len(joined(half, half, half)) == 2


@pytest.mark.parametrize(
    "kind",
    [
        "execution_complete",
        "execution_error",
        "approval_request",
        "approval_resolved",
        "steer_taken",
    ],
)
def test_what_somebody_waits_for_is_kept_and_names_its_turn(kind: str) -> None:
    kept = Event(event(kind, turn_id="t-9"))
    assert kept.is_kept
    assert kept.turn_id == "t-9"
    assert Event(event(kind, turn_id=7)).turn_id is None


def test_nothing_else_is_kept() -> None:
    for data in (text("execution_complete"), event("usage"), '{"type":["execution_error"]}', "x"):
        assert not Event(data).is_kept


def test_half_a_surrogate_pair_does_not_stop_an_event() -> None:
    assert Event('{"type":"usage","x":"\ud800"}').text == '{"type":"usage","x":"?"}'


def test_a_cut_event_keeps_what_is_small_and_the_beginning_of_what_people_read() -> None:
    data = event(
        "execution_complete", content="y" * 1_000_000, turn_id="t-1", blob=["z" * 1_000_000]
    )
    smaller = json.loads(cut(data) or "")
    assert smaller["type"] == "execution_complete"
    assert smaller["turn_id"] == "t-1"
    assert smaller["truncated"] is True
    assert "blob" not in smaller
    assert set(smaller["content"]) == {"y"}
    assert len(smaller["content"]) < 100_000


def test_of_an_event_that_is_no_object_nothing_can_be_kept() -> None:
    assert cut("[" * 10) is None
    assert cut("x" * 10) is None


def test_a_cut_event_always_fits() -> None:
    names = {f"f{number}": "\x00" * 900 for number in range(10_000)}
    data = event("tool_call_complete", result="\x00" * 10**6, content="\x00" * 10**6, **names)
    assert len(json.dumps(cut(data))) < limits.EVENT_BYTES_MAX
