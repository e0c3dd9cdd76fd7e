"""Every event of a session as a MyAgent client sees it."""

import json
from typing import Any

import pytest

from tests.wire.myagent.talk import END, NOW_MS, SAID, SESSION, Json, names, outward, shown
from trunkline.wire.myagent.codec import encode, numbered
from trunkline.wire.myagent.messages import Downlink


def one(event: Json, *before: Json, **options: Any) -> Json:
    """The one message that an event becomes."""
    state = outward(**options)
    shown(*before, state=state)
    (message,) = shown(event, state=state, first_id=len(before) + 1)
    return message


def test_a_message_has_its_session_and_the_time_of_its_event() -> None:
    message = one({"type": "text_chunk", "content": "a", "ts": 0.0 + NOW_MS + 5})
    assert message["session_id"] == SESSION
    assert message["timestamp"] == "2027-01-15T08:00:00.005Z"


def test_an_event_without_a_time_has_the_present_one() -> None:
    assert one({"type": "text_chunk", "content": "a"})["timestamp"] == "2027-01-15T08:00:00.000Z"


@pytest.mark.proves("notes-2-connection-id")
def test_a_connections_number_and_id_are_put_on_the_translated_bytes() -> None:
    for content, metadata in (("}", {}), ("{}", {"a": {}}), ("x", {"a": "{}"}), ("x", None)):
        body = encode(Downlink("agent.thinking", content=content, metadata=metadata))
        message = json.loads(numbered(body, b"c-1", 7))
        assert (message["seq"], message["event_id"], message["content"]) == (7, "c-1-7", content)
        assert message["metadata"] == {**(metadata or {}), "connection_id": "c-1"}


@pytest.mark.proves("notes-2-chunk-index")
def test_pieces_of_text_count_from_zero_in_each_turn() -> None:
    piece = {"type": "text_chunk", "content": "x"}
    again = {**SAID, "turn_id": "t2"}
    messages = shown(SAID, piece, piece, END, again, piece)
    pieces = [one for one in messages if one["event"] == "agent.partial_answer"]
    assert [one["metadata"]["chunk_index"] for one in pieces] == [0, 1, 0]


def test_what_is_said_to_a_turn_that_runs_begins_none() -> None:
    piece = {"type": "text_chunk", "content": "x", "turn_id": "t1"}
    steer = {**SAID, "turn_id": "t1", "steers": "t1", "message_id": "m1"}
    missed = {"type": "steer_missed", "turn_id": "m1", "message_id": "m1", "steers": "t1"}
    said, end = {**SAID, "turn_id": "t1"}, {**END, "turn_id": "t1"}
    messages = shown(said, piece, steer, piece, end, missed, {**piece, "turn_id": "m1"})
    pieces = [one for one in messages if one["event"] == "agent.partial_answer"]
    assert [one["metadata"]["chunk_index"] for one in pieces] == [0, 1, 0]


def test_pieces_of_two_turns_are_counted_apart() -> None:
    turns = [{"type": "text_chunk", "content": "x", "turn_id": name} for name in ("t1", "t2", "t1")]
    messages = shown(SAID, {**SAID, "turn_id": "t2"}, *turns)
    assert [one["metadata"]["chunk_index"] for one in messages] == [0, 0, 1]


@pytest.mark.parametrize(
    ("stage", "kind"),
    [("reasoning", "reasoning"), ("replan", "planning"), ("model", "analysis"), (None, "analysis")],
)
@pytest.mark.proves("notes-2-thinking-type")
def test_thinking_says_which_kind_it_is(stage: str | None, kind: str) -> None:
    message = one({"type": "thinking", "content": "hm", "stage": stage})
    assert (message["event"], message["content"]) == ("agent.thinking", "hm")
    assert message["metadata"]["thinking_type"] == kind


@pytest.mark.proves("notes-2-tool-call", "notes-2-tool-result")
def test_a_tool_call_and_its_result_share_a_step() -> None:
    start = {
        "type": "tool_call_start",
        "tool_name": "bash",
        "tool_input": {"c": "ls"},
        "tool_call_id": "c1",
        "ts": 100,
    }
    done = {"type": "tool_call_complete", "tool_name": "bash", "tool_call_id": "c1", "ts": 340}
    call, result = shown(start, {**done, "result": "ok"}, first_id=41)
    assert call["step_id"] == result["step_id"] == "step_41_bash"
    assert call["content"] == {
        "tool_name": "bash",
        "tool_description": "",
        "arguments": {"c": "ls"},
    }
    assert call["metadata"] == {
        "call_id": "c1",
        "tool_type": "tool",
        "tool": "bash",
        "args": {"c": "ls"},
        "status": "running",
    }
    assert result["content"] == {"result": "ok", "status": "success"}
    assert result["metadata"]["execution_time_ms"] == 240
    assert result["metadata"]["status"] == "success"


def test_a_failed_tool_says_so() -> None:
    message = one(
        {"type": "tool_call_complete", "tool_name": "x", "result": "no", "is_error": True}
    )
    assert message["content"] == {"result": "no", "status": "failed"}
    assert message["metadata"]["error"] == "no"


def test_calls_without_ids_are_paired_in_their_order() -> None:
    start = {"type": "tool_call_start", "tool_name": "x"}
    done = {"type": "tool_call_complete", "tool_name": "x"}
    messages = shown(start, start, done, done)
    assert [one["step_id"] for one in messages] == [
        "step_1_x",
        "step_2_x",
        "step_1_x",
        "step_2_x",
    ]


@pytest.mark.parametrize(("kind", "field"), [("skill", "skill_name"), ("mcp", "tool_name")])
def test_skills_and_mcp_calls_are_tools_of_their_type(kind: str, field: str) -> None:
    call, result = shown(
        {"type": f"{kind}_call_start", field: "pdf", "arguments": {"a": 1}},
        {"type": f"{kind}_call_complete", field: "pdf", "result": "read"},
    )
    assert call["metadata"]["tool_type"] == kind
    assert call["content"]["arguments"] == {"a": 1}
    assert (result["step_id"], result["content"]["result"]) == (call["step_id"], "read")


@pytest.mark.proves("notes-2-final-answer")
def test_the_answer_says_what_it_took() -> None:
    usage = {"type": "usage", "tokens_in": 7, "tokens_out": 3, "models": {"small": {}}}
    final = one(END, SAID, usage)
    assert (final["event"], final["content"]) == ("agent.final_answer", "done")
    assert final["metadata"] == {
        "answer_type": "text",
        "model": "small",
        "total_tokens_used": 10,
        "generation_time_ms": 900,
        "turn_id": "t1",
    }


def test_an_end_without_words_has_those_that_were_streamed() -> None:
    pieces = [{"type": "text_chunk", "content": text} for text in ("a", "b")]
    assert one({"type": "execution_complete"}, SAID, *pieces)["content"] == "ab"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("plain", "text"),
        ('{"a": [1]}', "json"),
        ("[1, 2]", "json"),
        ("{not json}", "text"),
        ("```py\nx = 1\n```", "code"),
        ("```a``` and ```b```", "text"),
        ({"rows": []}, "structured"),
    ],
)
@pytest.mark.proves("notes-2-answer-types")
def test_the_type_of_an_answer_is_told(content: Any, kind: str) -> None:
    assert one({**END, "content": content}, SAID)["metadata"]["answer_type"] == kind
    typed = one({**END, "content": content}, SAID, typed=True)
    assert set(typed["content"]) == {"answer", "answer_type"}
    assert typed["content"]["answer_type"] == kind


def test_a_cancelled_turn_is_interrupted() -> None:
    assert one({**END, "cancelled": True}, SAID)["event"] == "agent.interrupted"


def test_an_error_has_its_code() -> None:
    event = {"type": "execution_error", "error": "no key", "code": "MODEL_KEY_MISSING"}
    message = one(event, SAID)
    assert (message["event"], message["content"]) == ("agent.error", "no key")
    assert message["metadata"]["error_code"] == "MODEL_KEY_MISSING"
    assert message["metadata"]["details"] == {}


def test_llm_messages_are_sent_only_where_they_are_asked_for() -> None:
    result = {"type": "tool_call_complete", "tool_name": "x", "result": "42"}
    story = (SAID, {"type": "text_chunk", "content": "so"}, result, END)
    assert "agent.llm_message" not in names(shown(*story))
    messages = shown(*story, state=outward(llm_messages=True))
    told = [one for one in messages if one["event"] == "agent.llm_message"]
    assert [(one["metadata"]["role"], one["content"]) for one in told] == [
        ("user", "hi"),
        ("tool", "42"),
        ("assistant", "done"),
    ]
    assert names(messages)[-1] == "agent.final_answer"


def test_a_closed_session_has_ended() -> None:
    message = one({"type": "session_closed", "reason": "user_closed", "duration_ms": 5})
    assert message["event"] == "agent.session_end"
    assert message["metadata"] == {"reason": "user_closed", "total_duration_ms": 5}


def test_a_machine_that_is_away_is_told_only_to_who_waits() -> None:
    away = {"type": "session_status", "machine": "offline", "held": True}
    assert shown(away) == []
    message = one(away, SAID)
    assert message["event"] == "agent.thinking"
    assert message["metadata"] == {"thinking_type": "analysis", "machine": "offline", "held": True}
    assert shown(SAID, END, away)[1:] == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"machine": "online", "problems": ["boom", "no disk"]}, ["boom", "no disk"]),
        ({"problems": ["the tool server does not answer"]}, ["the tool server does not answer"]),
        ({"machine": "degraded", "degraded": ["remote_mcp", "skills"]}, ["remote_mcp", "skills"]),
        ({"degraded": ["remote_mcp"]}, ["remote_mcp"]),
        ({"machine": "online", "lost_events": 3}, ["lost 3 events"]),
        ({"machine": "gone", "message": "it was removed"}, ["it was removed"]),
    ],
    ids=["problems", "no machine named", "degraded", "only degraded", "lost", "message"],
)
def test_what_is_wrong_with_a_session_is_told_in_words_and_not_as_good_news(
    status: Json, words: list[str]
) -> None:
    message = one({"type": "session_status", **status}, SAID)
    assert message["event"] == "agent.thinking"
    assert all(word in message["content"] for word in words)
    assert "online" not in message["content"]


@pytest.mark.parametrize("empty", [[], None, "x", {}], ids=repr)
def test_a_machine_that_lacks_nothing_is_just_online(empty: Any) -> None:
    back = {"type": "session_status", "machine": "online", "problems": empty, "degraded": empty}
    assert one(back, SAID)["content"] == "The machine of this session is online."


def test_persons_of_a_group_are_told_apart() -> None:
    person = {"id": "p1", "name": "Ada"}
    messages = shown(
        SAID,
        {"type": "person_start", "person": person},
        {"type": "text_chunk", "content": "hello", "person": person},
        {"type": "person_error", "person": person, "error": "tired", "code": "X"},
        {"type": "person_complete", "person": person, "content": "hello"},
    )
    assert names(messages) == ["agent.thinking", "agent.partial_answer", "agent.thinking"]
    assert all(one["metadata"]["person"] == person for one in messages)


def test_what_a_helper_says_is_no_part_of_the_answer() -> None:
    aside = {"type": "text_chunk", "content": "aside", "agent": "helper"}
    messages = shown(SAID, aside, {"type": "execution_complete"})
    assert names(messages) == ["agent.thinking", "agent.final_answer"]
    assert messages[0]["metadata"]["agent"] == "helper"
    assert messages[1]["content"] == ""


@pytest.mark.parametrize(
    "event",
    [
        {"type": "user_message", "content": "hi"},
        {"type": "tool_call_progress", "content": "50 %"},
        {"type": "file_created", "path": "a.txt"},
        {"type": "usage", "tokens_in": 1},
        {"type": "foreign", "protocol": "yeaft", "name": "crew_output"},
        {"type": "person_complete", "person": {"id": "p"}, "content": "x"},
        {"type": "session_status", "machine": "online", "ready": {"session_id": "x"}},
        {"type": "session_status", "machine": "online", "commands": [{"name": "compact"}]},
        {"type": "session_status", "machine": "online", "resume": {"id": "x"}},
        {"type": "text_chunk", "content": ""},
        {"type": "something_new"},
    ],
    ids=lambda event: event["type"],
)
def test_what_this_wire_cannot_say_is_left_out(event: Json) -> None:
    assert shown(SAID, event) == []
