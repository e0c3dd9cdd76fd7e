"""Which lines of a log a copy has, and what its agent should remember of them."""

import json
from typing import Any

import pytest

from trunkline.control.log import events
from trunkline.control.log.store import Logged
from trunkline.control.sessions import notes
from trunkline.control.sessions.copied import Copy, Cut, Outline
from trunkline.control.sessions.remembered import Remembered
from trunkline.control.sessions.state import SessionState, fold

Json = dict[str, Any]
Line = tuple[str, Json] | notes.Note


def entries(*lines: Line) -> list[Logged]:
    made: list[Logged] = []
    event_id = note = 0
    for line in lines:
        if isinstance(line, tuple):
            event_id += 1
            text = events.make(line[0], event_id, **line[1])
            made.append(Logged(event_id, 0, event_id, text))
        else:
            note += 1
            made.append(Logged(event_id, note, event_id, notes.encode(line)))
    return made


def said(turn_id: str, text: str = "go", **more: Any) -> Line:
    return "user_message", {"turn_id": turn_id, "content": text, **more}


def end(turn_id: str | None, kind: str = "execution_complete") -> Line:
    return kind, {"content": "done", **({"turn_id": turn_id} if turn_id else {})}


def steer(turn_id: str, message_id: str) -> Line:
    return said(turn_id, message_id, steers=turn_id, message_id=message_id)


def taken(turn_id: str, message_id: str) -> Line:
    return "steer_taken", {"turn_id": turn_id, "message_id": message_id}


def missed(turn_id: str, message_id: str) -> Line:
    steered = {"message_id": message_id, "steers": turn_id}
    return "steer_missed", {"turn_id": message_id, **steered}


TEXT: Line = ("text_chunk", {"content": "x"})


def copied(log: list[Logged], wanted: str | int | None = None) -> list[Json]:
    outline = Outline()
    for entry in log:
        outline.take(entry)
    cut = outline.cut(wanted)
    assert isinstance(cut, Cut), cut
    copy = Copy(cut, lambda at: f"new-{at}", latest=1_000)
    return [json.loads(line) for entry in log if isinstance(line := copy.line(entry), str)]


def test_a_copy_has_the_files_of_its_messages_under_their_new_names_and_no_other_note() -> None:
    files = {"attachments": [{"name": "a.png", "mime": "image/png", "base64": "AA=="}]}
    log = entries(
        said("a"),
        notes.Said("a", {**files, "mentions": ["x"]}),
        notes.Told("a"),
        steer("a", "b"),
        notes.Said("b", files),
        taken("a", "b"),
        end("a"),
        said("c"),
        notes.Said("c", files),
        end("c"),
    )
    outline = Outline()
    for entry in log:
        outline.take(entry)
    cut = outline.cut("a")
    assert isinstance(cut, Cut)
    copy = Copy(cut, lambda at: f"new-{at}", latest=1_000)
    lines = [copy.line(entry) for entry in log]
    events_of = [json.loads(line) for line in lines if isinstance(line, str)]
    [turn_id] = {one["turn_id"] for one in events_of}
    [message_id] = {one["message_id"] for one in events_of if "message_id" in one}
    noted = [line for line in lines if isinstance(line, notes.Said)]
    assert noted == [notes.Said(turn_id, files), notes.Said(message_id, files)]


def test_a_copy_knows_which_of_the_others_turns_its_own_are() -> None:
    log = entries(said("a"), steer("a", "b"), taken("a", "b"), end("a"), said("c"), end("c"))
    outline = Outline()
    for entry in log:
        outline.take(entry)
    cut = outline.cut(None)
    assert isinstance(cut, Cut)
    copy = Copy(cut, lambda at: f"new-{at}", latest=1_000)
    lines = [json.loads(line) for entry in log if isinstance(line := copy.line(entry), str)]
    opened = [one["turn_id"] for one in lines if one["type"] == "user_message"]
    assert copy.named() == notes.Copied({"a": opened[0], "c": opened[-1]})


def kinds(lines: list[Json]) -> list[str]:
    return [one["type"] for one in lines]


@pytest.mark.parametrize("wanted", [1, "a"])
def test_a_copy_ends_with_its_turn_whatever_was_said_before_that_ended(wanted: str | int) -> None:
    log = entries(said("a"), said("b"), TEXT, end("a"), TEXT, end("b"))
    lines = copied(log, wanted)
    assert kinds(lines) == ["user_message", "execution_complete"]
    assert {one["turn_id"] for one in lines} == {"new-1"}
    assert all(one["imported"] for one in lines)


def test_before_a_turn_is_the_last_one_that_has_ended() -> None:
    outline = Outline()
    for entry in entries(said("a"), said("b"), said("c"), end("a"), end("c"), said("d")):
        outline.take(entry)
    found = {one: outline.before(one) for one in ("a", "b", "c", "d", "e")}
    assert found == {"a": "", "b": "a", "c": "a", "d": "c", "e": None}


def test_without_a_turn_it_is_the_last_that_has_ended() -> None:
    log = entries(said("a"), end("a"), said("b"), TEXT, end("b", "execution_error"), said("c"))
    lines = copied(log)
    assert [one["content"] for one in lines if one["type"] == "text_chunk"] == ["x"]
    assert kinds(lines)[-1] == "execution_error"


def test_events_that_name_no_turn_are_of_the_one_that_runs() -> None:
    log = entries(said("a"), notes.Told("a"), TEXT, end(None), said("b"), notes.Told("b"), TEXT)
    assert [one["turn_id"] for one in copied(log)] == ["new-1"] * 3


def test_questions_costs_and_machines_stay_where_they_were() -> None:
    left: list[Line] = [
        ("approval_request", {"request_id": "q", "turn_id": "a"}),
        ("approval_resolved", {"request_id": "q", "confirmed": True, "turn_id": "a"}),
        ("usage", {"tokens_in": 1, "turn_id": "a"}),
        ("session_status", {"machine": "online"}),
    ]
    log = entries(said("a", client_message_id="mine"), *left, end("a"))
    lines = copied(log)
    assert kinds(lines) == ["user_message", "execution_complete"]
    assert "client_message_id" not in lines[0]


STEERED = [
    *(said("a"), steer("a", "m"), taken("a", "m"), steer("a", "late"), steer("a", "gone")),
    *(end("a"), missed("a", "late"), notes.Unsteered(), end("late"), said("b"), end("b")),
]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("a", ["go", "m"]),
        ("late", ["go", "m", "late"]),
        ("b", ["go", "m", "late", "go"]),
    ],
)
def test_what_was_said_to_a_turn_comes_along_if_it_got_there(
    wanted: str, expected: list[str]
) -> None:
    lines = copied(entries(*STEERED), wanted)
    assert [one["content"] for one in lines if one["type"] == "user_message"] == expected
    state = SessionState(None)
    for line in lines:
        fold(state, events.to_text(line), is_note=False)
    assert (state.turns, state.steers) == ({}, {})  # nothing of it is open here
    names = ("turn_id", "steers", "message_id")
    assert not {"a", "m", "late"} & {one.get(name) for one in lines for name in names}


@pytest.mark.parametrize("line", ['{"type":"text_chunk"', "[]", "7", '{"type":[]}'])
def test_a_line_that_is_no_event_is_left_out(line: str) -> None:
    log = entries(said("a"), end("a"))
    log.insert(1, Logged(1, 0, 1, line))
    assert kinds(copied(log)) == ["user_message", "execution_complete"]


def call(kind: str, call_id: str, **more: Any) -> Json:
    return {"type": f"tool_call_{kind}", "tool_call_id": call_id, "tool_name": "bash", **more}


def remembered(*lines: Json, bytes_max: int = 10_000) -> list[Json]:
    found = Remembered(bytes_max)
    for line in lines:  # pages may end anywhere
        found.take([events.to_text(line)])
    return found.messages()


def test_calls_and_results_of_a_step_stand_together() -> None:
    lines = remembered(
        {"type": "user_message", "content": "go"},
        {"type": "text_chunk", "content": "I "},
        {"type": "text_chunk", "content": "look."},
        call("start", "1", tool_input={"a": 1}),
        call("start", "2"),
        call("complete", "1", result="one"),
        call("start", "3", agent="helper"),
        call("start", "4"),
        call("complete", "2", result={"b": 2}, is_error=True),
        {"type": "user_message", "content": "on", "steers": "t"},
        {"type": "text_chunk", "content": "Done."},
        {"type": "execution_complete", "content": "Done."},
    )
    assert [one["role"] for one in lines] == [
        *("user", "assistant", "tool", "tool", "tool", "user", "assistant")
    ]
    assert lines[1]["content"] == "I look."
    assert [one["id"] for one in lines[1]["tool_calls"]] == ["1", "2", "4"]
    assert [one["tool_call_id"] for one in lines[2:5]] == ["1", "2", "4"]
    assert [one["is_error"] for one in lines[2:5]] == [False, True, True]
    assert lines[3]["content"] == '{"b":2}'


def test_the_newest_whole_turns_are_remembered() -> None:
    turns = [{"type": "user_message", "content": f"{number} {'x' * 100}"} for number in range(50)]
    lines = remembered(*turns, bytes_max=1_000)
    assert 0 < len(lines) < 10
    assert lines[-1]["content"].startswith("49 ")


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "text_chunk", "content": "before anybody spoke"},
        {"type": "user_message", "content": 7},
        {"type": "user_message"},
        call("complete", "unknown", result="x"),
        {"type": "tool_call_start", "tool_call_id": [], "tool_name": {}},
        {"type": {}},
    ],
)
def test_odd_events_are_passed_over(odd: Json) -> None:
    assert remembered(odd, {"type": "user_message", "content": "go"}, odd)[0]["content"] == "go"
