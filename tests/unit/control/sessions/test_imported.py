"""A history of another program as events: each question a turn with one end, in order of time."""

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trunkline.control.sessions.imported import Entry, lines_of
from trunkline.control.sessions.state import SessionState, TurnEnded, TurnOpened, fold

Json = dict[str, Any]
LATEST = 10_000


def events_of(*entries: Entry) -> list[Json]:
    numbers = itertools.count(1)
    made = lines_of(entries, user_id="u", id_at=lambda _: f"t{next(numbers)}", latest=LATEST)
    return [json.loads(line) for line in made]


def said(role: str, text: str, at: int = 1) -> Entry:
    return Entry(role=role, text=text, at=at)


def test_a_question_and_its_answer_are_a_turn() -> None:
    call = Entry(role="tool", name="Bash", call_id="c1", input={"x": 1}, result="ok", at=6)
    found = events_of(said("user", "Do it", 5), call, said("assistant", "Done.", 7))
    assert [one["type"] for one in found] == [
        *("user_message", "tool_call_start", "tool_call_complete", "text_chunk"),
        "execution_complete",
    ]
    assert {one["turn_id"] for one in found} == {"t1"}
    assert all(one["imported"] is True for one in found)
    assert [one["ts"] for one in found] == [5, 6, 6, 7, 7]
    assert found[0]["user_id"] == "u"
    assert found[2]["result"] == "ok"
    assert found[-1]["content"] == "Done."


def test_the_answer_is_what_was_said_after_the_last_tool() -> None:
    tool = Entry(role="tool", name="x")
    found = events_of(
        said("user", "q"),
        said("assistant", "First I look."),
        tool,
        said("assistant", "One."),
        said("assistant", "Two."),
    )
    assert found[-1]["content"] == "One.\n\nTwo."
    assert [one["content"] for one in found if one["type"] == "text_chunk"] == [
        "First I look.",
        "One.\n\n",
        "Two.",
    ]
    assert found[2]["tool_call_id"] == "t1-2"


def test_a_question_without_an_answer_ends_as_cancelled() -> None:
    found = events_of(said("user", "first"), said("user", "second"), said("assistant", "Yes."))
    ends = [one for one in found if one["type"] == "execution_complete"]
    assert [one.get("cancelled") for one in ends] == [True, None]


def test_what_stands_before_the_first_question_is_left_out() -> None:
    assert events_of(said("assistant", "hello"), Entry(role="tool", name="x")) == []
    assert events_of(Entry(role="system", text="x")) == []


ENTRY = st.builds(
    Entry,
    role=st.sampled_from(["user", "assistant", "tool", "system", ""]),
    text=st.text(max_size=20),
    at=st.integers(-5, 2 * LATEST),
    name=st.text(max_size=5),
    call_id=st.text(max_size=5),
    result=st.text(max_size=10),
    is_error=st.booleans(),
)


@given(st.lists(ENTRY, max_size=20))
def test_whatever_was_said_every_turn_has_one_end_and_time_never_goes_back(
    entries: list[Entry],
) -> None:
    lines = lines_of(entries, user_id="u", id_at=lambda ms: f"{ms:06}", latest=LATEST)
    state = SessionState("m")
    opened, ended = 0, 0
    for line in lines:
        for change in fold(state, line, is_note=False):
            opened += isinstance(change, TurnOpened)
            ended += isinstance(change, TurnEnded)
        assert len(state.turns) <= 1
    assert state.turns == {}
    assert opened == ended == sum(entry.role == "user" for entry in entries)
    ids = [json.loads(line)["turn_id"] for line in lines]
    assert ids == sorted(ids)
    assert all(one < f"{LATEST:06}" for one in ids)
    times = [json.loads(line)["ts"] for line in lines]
    assert times == sorted(times)
    assert all(0 <= one <= LATEST for one in times)
