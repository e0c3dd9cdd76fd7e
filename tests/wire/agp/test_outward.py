"""Session events as a device sends them: what is told, what is left out, one answer for a turn."""

import json
from typing import Any

import pytest

from trunkline.wire import events
from trunkline.wire.agp.outward import Outward, from_events

Json = dict[str, Any]


class Told:
    """A session's events, given one after the other."""

    def __init__(self) -> None:
        self.state = Outward("s")
        self.state.begin("p", "device_001", "user_123")
        self._event_id = 0

    def event(self, kind: str, /, **fields: Any) -> list[Json]:
        self._event_id += 1
        line = events.line(kind, **fields)
        return [json.loads(one) for one in from_events(self.state, self._event_id, line)]

    def payloads(self, kind: str, /, **fields: Any) -> list[Json]:
        said = self.event(kind, **fields)
        for message in said:
            assert (message["guid"], message["user_id"]) == ("device_001", "user_123")
            payload = message["payload"]
            assert (payload.pop("session_id"), payload.pop("prompt_id")) == ("s", "p")
        return [message["payload"] for message in said]


@pytest.fixture
def told() -> Told:
    return Told()


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def test_text_is_a_message_chunk(told: Told) -> None:
    assert told.payloads("text_chunk", content="hi") == [
        {"update_type": "message_chunk", "content": text("hi")}
    ]
    assert told.payloads("text_chunk", content="") == []


def test_a_tool_is_a_call_and_its_updates(told: Told) -> None:
    assert told.payloads(
        "tool_call_start", tool_call_id="t", tool_name="read_file", tool_input={"path": "/a"}
    ) == [
        {
            "update_type": "tool_call",
            "tool_call": {
                "tool_call_id": "t",
                "status": "in_progress",
                "title": "read_file",
                "locations": [{"path": "/a"}],
            },
        }
    ]
    assert told.payloads("tool_call_progress", tool_call_id="t", content="...") == [
        {
            "update_type": "tool_call_update",
            "tool_call": {
                "tool_call_id": "t",
                "status": "in_progress",
                "content": [text("...")],
            },
        }
    ]
    (end,) = told.payloads("tool_call_complete", tool_call_id="t", result={"a": 1}, is_error=True)
    assert end["tool_call"] == {
        "tool_call_id": "t",
        "status": "failed",
        "content": [text('{"a":1}')],
    }
    assert told.payloads("tool_call_complete", tool_call_id="t") == []


def test_tools_without_ids_are_paired_in_their_order(told: Told) -> None:
    (start,) = told.payloads("tool_call_start", tool_name="a")
    (end,) = told.payloads("tool_call_complete", tool_name="a", result="x")
    assert start["tool_call"]["tool_call_id"] == end["tool_call"]["tool_call_id"]
    (other,) = told.payloads("tool_call_complete", tool_name="b")
    assert other["update_type"] == "tool_call"
    assert other["tool_call"]["tool_call_id"] != start["tool_call"]["tool_call_id"]


def test_a_skill_inside_a_tool_is_a_call_of_its_own(told: Told) -> None:
    told.event("tool_call_start", tool_call_id="t", tool_name="read_skill_file")
    (start,) = told.payloads("skill_call_start", tool_call_id="t", skill_name="pdf")
    (end,) = told.payloads("skill_call_complete", tool_call_id="t", skill_name="pdf", result="x")
    assert (start["tool_call"]["title"], start["update_type"]) == ("pdf", "tool_call")
    assert end["tool_call"]["tool_call_id"] == start["tool_call"]["tool_call_id"] == "skill-t"
    (tool,) = told.payloads("tool_call_complete", tool_call_id="t", result="y")
    assert (tool["tool_call"]["tool_call_id"], tool["update_type"]) == ("t", "tool_call_update")


def test_thinking_is_one_call_of_its_kind_until_something_else_is_said(told: Told) -> None:
    (first,) = told.payloads("thinking", content="hm, ")
    (second,) = told.payloads("thinking", content="so")
    over, said = told.payloads("text_chunk", content="yes")
    call_id = first["tool_call"]["tool_call_id"]
    assert (first["tool_call"]["kind"], first["update_type"]) == ("think", "tool_call")
    assert second["tool_call"]["tool_call_id"] == call_id
    assert second["tool_call"]["content"] == [text("so")]
    assert over["tool_call"] == {"tool_call_id": call_id, "status": "completed"}
    assert said["content"] == text("yes")
    (later,) = told.payloads("thinking", content="again")
    assert later["tool_call"]["tool_call_id"] != call_id


@pytest.mark.parametrize(
    ("kind", "fields", "answer"),
    [
        (
            "execution_complete",
            {"content": "x"},
            {"stop_reason": "end_turn", "content": [text("x")]},
        ),
        (
            "execution_complete",
            {"final_response": "y", "content": "x"},
            {"stop_reason": "end_turn", "content": [text("y")]},
        ),
        ("execution_complete", {}, {"stop_reason": "end_turn"}),
        ("execution_complete", {"cancelled": True}, {"stop_reason": "cancelled"}),
        ("execution_error", {"error": "e"}, {"stop_reason": "error", "error": "e"}),
        ("execution_error", {"code": "X"}, {"stop_reason": "error", "error": "X"}),
        ("execution_error", {}, {"stop_reason": "error", "error": "the turn failed"}),
        (
            "execution_error",
            {"error": "no", "code": "MODEL_REFUSED"},
            {"stop_reason": "refusal", "error": "no"},
        ),
    ],
)
def test_an_end_is_the_one_answer(told: Told, kind: str, fields: Json, answer: Json) -> None:
    assert told.payloads(kind, turn_id="p", **fields) == [answer]
    for late in ("execution_complete", "execution_error", "text_chunk", "thinking"):
        assert told.event(late, turn_id="p", content="late", error="late") == []
    assert told.event("text_chunk", content="of no turn") == []
    told.state.begin("q", "device_001", "user_123")
    (following,) = told.event("execution_complete", content="x")
    assert following["payload"]["prompt_id"] == "q"


def test_the_end_of_a_prompt_that_waited_leaves_the_one_at_work_as_it_was(told: Told) -> None:
    (thought,) = told.payloads("thinking", content="hm", turn_id="p")
    told.state.came("q", "device_002", "user_456")
    (end,) = told.event("execution_complete", turn_id="q", cancelled=True)
    assert (end["guid"], end["user_id"]) == ("device_002", "user_456")
    assert (end["payload"]["prompt_id"], end["payload"]["stop_reason"]) == ("q", "cancelled")
    over, _ = told.payloads("tool_call_start", turn_id="p", tool_call_id="t", tool_name="bash")
    call_id = thought["tool_call"]["tool_call_id"]
    assert over["tool_call"] == {"tool_call_id": call_id, "status": "completed"}
    told.event("execution_complete", turn_id="r", cancelled=True)
    (tool,) = told.payloads("tool_call_complete", tool_call_id="t", result="ok")
    assert (tool["update_type"], tool["tool_call"]["status"]) == ("tool_call_update", "completed")


def test_a_prompt_that_is_taken_again_has_an_answer_again(told: Told) -> None:
    told.event("execution_complete", turn_id="p", content="x")
    told.state.begin("p", "device_001", "user_123")
    assert told.payloads("execution_error", turn_id="p", error="e") == [
        {"stop_reason": "error", "error": "e"}
    ]


def test_what_the_wire_has_no_words_for_is_left_out(told: Told) -> None:
    for kind in (
        "user_message",
        "approval_request",
        "approval_resolved",
        "plan",
        "file_created",
        "usage",
        "session_status",
        "foreign",
        "person_start",
        "from_the_future",
    ):
        assert told.event(kind, turn_id="p", content="x", message="x") == []


def test_the_same_event_has_the_same_ids_and_every_other_another() -> None:
    one, other = Told(), Told()
    first, again = one.event("text_chunk", content="x"), other.event("text_chunk", content="x")
    assert first == again
    assert one.event("text_chunk", content="x")[0]["msg_id"] != first[0]["msg_id"]


@pytest.mark.parametrize(
    "line",
    ["", "{", "7", "[]", "null", '{"type":7}', '{"type":"text_chunk","content":"\\ud800"', "\x00"],
)
def test_what_is_no_event_says_nothing(line: str) -> None:
    state = Outward("s")
    state.begin("p", "g", "u")
    assert from_events(state, 1, line) == []
