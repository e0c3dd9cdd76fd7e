"""A device's messages as session events: each kind, each state of a tool, each bound."""

import contextlib
import json
from typing import Any

import pytest

from trunkline.wire.agp import messages as agp
from trunkline.wire.agp.codec import decode_uplink
from trunkline.wire.agp.inward import CallBounds, Inward, read_logged, to_events
from trunkline.wire.agp.messages import (
    ContentBlock,
    Location,
    PromptResponse,
    PromptResponsePayload,
    ToolCall,
    Update,
    UpdatePayload,
    blocks,
)
from trunkline.wire.errors import Malformed

Json = dict[str, Any]
BOUNDS = CallBounds(title_chars=500, word_chars=40, path_chars=4096, locations=100)


def turn(chars_max: int = 1000, calls_max: int = 10) -> Inward:
    return Inward("p", chars_max=chars_max, calls_max=calls_max, call_bounds=BOUNDS)


def told(state: Inward, payload: UpdatePayload | PromptResponsePayload) -> list[Json]:
    message = (
        Update(msg_id="m", payload=payload)
        if isinstance(payload, UpdatePayload)
        else PromptResponse(msg_id="m", payload=payload)
    )
    return [json.loads(line) for line in to_events(state, message, 7)]


def chunk(text: str) -> UpdatePayload:
    return UpdatePayload("s", "p", "message_chunk", content=ContentBlock("text", text))


def call(status: str, update_type: str = "tool_call", **fields: Any) -> UpdatePayload:
    call_id = fields.pop("call_id", "t")
    return UpdatePayload("s", "p", update_type, tool_call=ToolCall(call_id, status, **fields))


COMMON = {"turn_id": "p", "msg_id": "m", "ts": 7}

_TEXT = {"type": "text", "text": "2 files"}
NOT_TEXT: list[tuple[Any, str]] = [
    ({"content": [_TEXT]}, "2 files"),
    ({"content": [{"text": "2 files"}], "details": {"exit": 0}}, "2 files"),
    ({"content": [_TEXT, _TEXT]}, "2 files\n2 files"),
    ({"content": [_TEXT, {"type": "image", "data": "x"}]}, "2 files\n[image]"),
    ({"content": [{"type": "text", "text": {"content": [_TEXT]}}]}, "2 files"),
    ([_TEXT, _TEXT], "2 files\n2 files"),
    ({"content": []}, ""),
    (None, ""),
    ({"content": "inside"}, '{"content":"inside"}'),
    ({"content": ["a"]}, '{"content":["a"]}'),
    ({"exit": 0, "out": "é"}, '{"exit":0,"out":"é"}'),
    ([1, "two"], '[1,"two"]'),
    (0, "0"),
    (False, "false"),
    ({}, "{}"),
]
"""What an app puts where text belongs, and what a person reads of it."""


@pytest.mark.parametrize(("text", "shown"), NOT_TEXT)
@pytest.mark.parametrize("status", ["in_progress", "completed", "failed"])
@pytest.mark.proves("notes-4-object-text")
def test_a_result_that_is_no_text_is_shown_as_text(text: Any, shown: str, status: str) -> None:
    state = turn()
    told(state, call("pending"))
    (event,) = told(state, call(status, "tool_call_update", content=[ContentBlock("text", text)]))
    name = "content" if status == "in_progress" else "result"
    assert event.get(name, "") == shown


@pytest.mark.parametrize(("text", "shown"), NOT_TEXT)
def test_so_is_a_piece_of_the_answer_and_the_answer(text: Any, shown: str) -> None:
    block = ContentBlock("text", text)
    (end,) = told(turn(), PromptResponsePayload("s", "p", "end_turn", [block]))
    assert end["content"] == shown
    piece = UpdatePayload("s", "p", "message_chunk", content=block)
    if isinstance(text, int):
        with pytest.raises(Malformed):
            told(turn(), piece)
    else:
        assert [one["content"] for one in told(turn(), piece)] == ([shown] if shown else [])


@pytest.mark.parametrize("depth", [3, 50, 900, 5_000, 200_000])
@pytest.mark.parametrize(
    ("opening", "closing"), [('{"content":[{"text":', "}]}"), ("[", "]"), ('{"a":', "}")]
)
def test_however_deep_a_result_is_nested_it_is_shown_or_the_message_skipped(
    depth: int, opening: str, closing: str
) -> None:
    text = opening * depth + "1" + closing * depth
    message = (
        '{"msg_id":"m","method":"session.update","payload":{"session_id":"s","prompt_id":"p",'
        '"update_type":"tool_call","tool_call":{"tool_call_id":"t","status":"completed",'
        '"content":[{"type":"text","text":' + text + "}]}}}"
    )
    with contextlib.suppress(Malformed):
        update = decode_uplink(message)
        assert isinstance(update, Update)
        assert len(to_events(turn(), update, 7)) == 2


def test_a_chunk_is_a_text_chunk_and_is_heard() -> None:
    state = turn()
    before = state.heard
    assert told(state, chunk("hi")) == [
        {"type": "text_chunk", "content": "hi", "turn_id": "p", "msg_id": "m"}
    ]
    assert (before, state.heard) == (False, True)
    assert told(state, chunk("")) == []
    assert state.streamed.text == "hi"


def test_a_call_has_the_name_that_it_started_with() -> None:
    state = turn()
    (start,) = told(state, call("pending", title="scan", kind="search"))
    assert start == {
        "type": "tool_call_start",
        "tool_call_id": "t",
        "tool_name": "scan",
        "kind": "search",
        "title": "scan",
        "status": "pending",
        **COMMON,
    }
    (end,) = told(state, call("completed", "tool_call_update", title="scanned all"))
    assert (end["tool_name"], end["title"], end["result"]) == ("scan", "scanned all", "")


@pytest.mark.parametrize(
    ("fields", "name"), [({"title": "a", "kind": "read"}, "a"), ({"kind": "read"}, "read")]
)
def test_a_call_without_a_title_has_its_kind_s_name(fields: Json, name: str) -> None:
    assert told(turn(), call("pending", **fields))[0]["tool_name"] == name
    assert told(turn(), call("pending"))[0]["tool_name"] == "tool"


@pytest.mark.parametrize("kind", [*agp.KINDS, "from the future"])
def test_every_kind_is_kept(kind: str) -> None:
    assert told(turn(), call("pending", kind=kind))[0]["kind"] == kind


def test_a_call_that_is_over_at_once_starts_first() -> None:
    for status, is_error in (("completed", False), ("failed", True)):
        start, end = told(turn(), call(status, content=blocks("x", "y")))
        assert (start["type"], end["type"]) == ("tool_call_start", "tool_call_complete")
        assert (end["result"], end["is_error"]) == ("x\ny", is_error)


def test_an_update_of_an_unknown_call_starts_it() -> None:
    state = turn()
    start, more = told(state, call("in_progress", "tool_call_update", content=blocks("x")))
    assert (start["type"], more["type"]) == ("tool_call_start", "tool_call_progress")
    (again,) = told(state, call("in_progress"))
    assert (again["type"], again["content"]) == ("tool_call_progress", "")


def test_a_call_is_over_once_and_what_is_said_of_it_later_is_not_lost() -> None:
    state = turn()
    told(state, call("completed"))
    assert told(state, call("completed", "tool_call_update")) == []
    (late,) = told(state, call("failed", "tool_call_update", content=blocks("late")))
    assert (late["type"], late["content"]) == ("tool_call_progress", "late")


def test_a_status_that_nobody_knows_is_on_the_way() -> None:
    state = turn()
    told(state, call("pending"))
    (event,) = told(state, call("paused", "tool_call_update"))
    assert (event["type"], event["status"]) == ("tool_call_progress", "paused")


def test_locations_are_kept() -> None:
    (start,) = told(turn(), call("pending", locations=[Location("/a"), Location("/b")]))
    assert start["locations"] == [{"path": "/a"}, {"path": "/b"}]


def test_an_answer_has_its_own_text_or_what_was_streamed() -> None:
    state = turn()
    told(state, chunk("a"))
    told(state, chunk("b"))
    (given,) = told(state, PromptResponsePayload("s", "p", "end_turn", content=blocks("c")))
    assert given == {"type": "execution_complete", "content": "c", **COMMON}
    (streamed,) = told(state, PromptResponsePayload("s", "p", "cancelled"))
    assert streamed == {
        "type": "execution_complete",
        "content": "ab",
        "cancelled": True,
        **COMMON,
    }


@pytest.mark.parametrize(
    ("reason", "fields", "error", "code"),
    [
        ("refusal", {"error": "no"}, "no", "REFUSED"),
        ("refusal", {"content": blocks("I will not")}, "I will not", "REFUSED"),
        ("refusal", {}, "the device's app refused", "REFUSED"),
        ("error", {}, "the device's app failed", "DEVICE_ERROR"),
        ("x" * 99, {"error": "why"}, None, "DEVICE_ERROR"),
    ],
)
def test_an_end_that_is_none_says_why(
    reason: str, fields: Json, error: str | None, code: str
) -> None:
    (end,) = told(turn(), PromptResponsePayload("s", "p", reason, **fields))
    unknown = f"the device ended the turn with an unknown stop_reason: {'x' * 40!r}: why"
    assert (end["type"], end["error"], end["code"]) == ("execution_error", error or unknown, code)


def test_what_is_kept_of_a_turn_is_bounded() -> None:
    state = turn(chars_max=5, calls_max=2)
    for _ in range(100):
        assert told(state, chunk("abc"))[0]["content"] == "abc"
    assert state.streamed.text == "abcab"
    for number in range(3):
        told(state, call("pending", call_id=f"t{number}", title="x"))
    assert state.name_of("t0") is None
    assert state.name_of("t2") == "x"


@pytest.mark.parametrize(
    "payload",
    [
        UpdatePayload("s", "p", "message_chunk"),
        UpdatePayload("s", "p", "tool_call"),
        UpdatePayload("s", "p", "tool_call_update", content=ContentBlock("text", "x")),
        UpdatePayload("s", "p", "plan" * 1000),
        UpdatePayload("s", "p", ""),
    ],
)
def test_an_update_that_says_nothing_is_malformed_and_changes_nothing(
    payload: UpdatePayload,
) -> None:
    state = turn()
    with pytest.raises(Malformed) as problem:
        told(state, payload)
    assert len(str(problem.value)) < 100
    assert state.streamed.text == ""


def test_a_turn_is_recalled_from_its_lines() -> None:
    before, after = turn(), turn()
    for payload in (chunk("a"), call("pending", title="scan"), call("failed"), chunk("b")):
        message = Update(msg_id="m", payload=payload)
        for line in to_events(before, message, 7):
            logged = read_logged(line)
            assert logged is not None
            assert (logged.msg_id, logged.turn_id) == ("m", "p")
            after.recall(logged)
    assert after.heard
    assert after.streamed.text == "ab"
    assert (after.name_of("t"), after.is_over("t")) == ("scan", True)


@pytest.mark.parametrize(
    "line",
    ["", "{", '{"type":"text_chunk"}', '{"msg_id":7}', '["msg_id"]', '{"type":7,"msg_id":"m"}'],
)
def test_what_no_device_said_is_not_recalled(line: str) -> None:
    assert read_logged(line) is None


def test_a_recall_survives_lines_with_strange_fields() -> None:
    state = turn()
    for line in (
        '{"type":"text_chunk","msg_id":"m","content":7}',
        '{"type":"tool_call_start","msg_id":"m","tool_call_id":7,"tool_name":[]}',
    ):
        logged = read_logged(line)
        assert logged is not None
        state.recall(logged)
    assert state.streamed.text == ""


def test_what_every_event_of_a_call_repeats_is_bounded() -> None:
    state = turn()
    places = [Location("/" + "p" * 5000)] * 101
    (start,) = told(
        state, call("s" * 41, title="t" * 501, kind="k" * 41, locations=places, content=blocks("c"))
    )[:1]
    (later, *_) = told(state, call("in_progress", "tool_call_update"))
    assert [len(start[field]) for field in ("title", "tool_name", "kind")] == [500, 500, 40]
    assert len(start["status"]) == 40
    assert [len(one["path"]) for one in start["locations"]] == [4096] * 100
    assert len(later["tool_name"]) == 500


def test_an_answer_without_content_leaves_out_what_is_not_known_from_its_start() -> None:
    state = turn()
    told(state, chunk("the tail"))
    state.is_whole = False
    (end,) = told(state, PromptResponsePayload("s", "p", agp.END_TURN))
    assert "content" not in end
    (given,) = told(
        state, PromptResponsePayload("s", "p", agp.END_TURN, content=blocks("all of it"))
    )
    assert given["content"] == "all of it"
