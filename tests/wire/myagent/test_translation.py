"""What holds for every story that a session can tell, whatever the machine writes."""

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.myagent.talk import SESSION, Json, messages_of, outward, shown
from trunkline.wire.events import line, read, text_of
from trunkline.wire.myagent.outward import from_events

TEXT = st.text(max_size=20).filter(bool)
NAME = st.sampled_from(["bash", "read_file", "搜索"])
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
TYPES = st.sampled_from(
    [
        "user_message",
        "text_chunk",
        "thinking",
        "tool_call_start",
        "tool_call_complete",
        "tool_call_progress",
        "skill_call_start",
        "skill_call_complete",
        "mcp_call_start",
        "mcp_call_complete",
        "approval_request",
        "approval_resolved",
        "usage",
        "execution_complete",
        "execution_error",
        "plan",
        "plan_created",
        "plan_step_start",
        "session_status",
        "session_closed",
        "person_start",
        "person_error",
        "person_complete",
        "foreign",
    ]
)
FIELDS = st.sampled_from(
    [
        "content",
        "turn_id",
        "tool_call_id",
        "ts",
        "tool_name",
        "tool_input",
        "arguments",
        "result",
        "is_error",
        "skill_name",
        "stage",
        "error",
        "code",
        "cancelled",
        "request_id",
        "kind",
        "message",
        "options",
        "timeout_seconds",
        "confirmed",
        "reason",
        "machine",
        "held",
        "person",
        "agent",
        "plan",
        "models",
        "tokens_in",
        "tokens_out",
        "duration_ms",
        "details",
    ]
)


def events(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(fields)


TURN_ID = st.just("t1")
PIECES = st.one_of(
    events(type=st.just("text_chunk"), content=TEXT, turn_id=TURN_ID),
    events(
        type=st.just("thinking"),
        content=TEXT,
        stage=st.sampled_from(["reasoning", "replan", "model"]),
        turn_id=TURN_ID,
    ),
    events(
        type=st.just("tool_call_start"),
        tool_name=NAME,
        tool_input=st.dictionaries(TEXT, VALUE, max_size=2),
        tool_call_id=st.sampled_from(["c1", "c2"]),
        turn_id=TURN_ID,
    ),
    events(
        type=st.just("approval_request"),
        request_id=st.uuids().map(str),
        kind=st.sampled_from(["approve", "input"]),
        message=TEXT,
        tool_name=NAME,
        tool_input=st.dictionaries(TEXT, VALUE, max_size=2),
        timeout_seconds=st.integers(1, 600),
        turn_id=TURN_ID,
    ),
    events(type=st.just("plan"), plan=st.just({"tasks": [{"title": "a"}]}), turn_id=TURN_ID),
)
ENDS = st.one_of(
    events(type=st.just("execution_complete"), content=TEXT, turn_id=TURN_ID),
    events(type=st.just("execution_complete"), cancelled=st.just(True), turn_id=TURN_ID),
    events(
        type=st.just("execution_error"),
        error=TEXT,
        code=st.sampled_from(["TURN_LIMIT", "MODEL_ERROR"]),
        turn_id=TURN_ID,
    ),
)


@given(st.lists(PIECES, max_size=12), ENDS)
def test_what_this_wire_can_say_is_said_with_all_its_fields_and_in_its_order(
    pieces: list[Json], end: Json
) -> None:
    story = [*_with_results(pieces), end]
    state = outward()
    from_events(state, 1, line("user_message", content="go", turn_id="t1"))
    messages = shown(*story, state=state, first_id=2)
    beside = ("plan.start", "plan.cancelled", "pipeline.completed")
    told = [one for one in messages if one["event"] not in beside]
    assert [_as_event(one) for one in told] == story


def _as_event(message: Json) -> Json:
    """The event that a client can tell from the message."""
    content: Any = message.get("content")
    metadata = message["metadata"]
    turn = {"turn_id": metadata["turn_id"]}
    match message["event"]:
        case "agent.partial_answer":
            return {"type": "text_chunk", "content": content, **turn}
        case "agent.thinking":
            return {"type": "thinking", "content": content, "stage": metadata["stage"], **turn}
        case "agent.tool_call":
            assert (content["tool_name"], content["arguments"]) == (
                metadata["tool"],
                metadata["args"],
            )
            told = {"tool_name": content["tool_name"], "tool_input": content["arguments"]}
            call_id = metadata["call_id"]
            return {"type": "tool_call_start", **told, "tool_call_id": call_id, **turn}
        case "agent.tool_result":
            told = {"tool_name": metadata["tool"], "result": content["result"]}
            call_id = metadata["call_id"]
            return {"type": "tool_call_complete", **told, "tool_call_id": call_id, **turn}
        case "agent.user_confirm":
            _, request_id, name = message["step_id"].split("_", 2)
            assert name == metadata["tool_name"]
            return {
                "type": "approval_request",
                "request_id": request_id,
                "kind": content["confirmation_type"],
                "message": content["message"],
                "tool_name": name,
                "tool_input": metadata["tool_args"],
                "timeout_seconds": metadata["timeout_seconds"],
                **turn,
            }
        case "plan.completed" | "plan.step_completed":
            return {"type": "plan", "plan": content, **turn}
        case "agent.final_answer":
            return {"type": "execution_complete", "content": content, **turn}
        case "agent.interrupted":
            return {"type": "execution_complete", "cancelled": True, **turn}
        case "agent.error":
            code = metadata["error_code"]
            return {"type": "execution_error", "error": content, "code": code, **turn}
    raise AssertionError(message)


def _with_results(pieces: list[Json]) -> list[Json]:
    """Every call that was started is completed, and its id is used once."""
    story: list[Json] = []
    for index, piece in enumerate(pieces):
        if piece["type"] != "tool_call_start":
            story.append(piece)
            continue
        call_id = f"{piece['tool_call_id']}-{index}"
        story.append({**piece, "tool_call_id": call_id})
        done = {"type": "tool_call_complete", "tool_name": piece["tool_name"], "result": "ok"}
        story.append({**done, "tool_call_id": call_id, "turn_id": "t1"})
    return story


@given(st.lists(st.tuples(st.sampled_from(["t1", "t2", ""]), TEXT), max_size=20))
@pytest.mark.proves("notes-2-pieces-are-deltas")
def test_the_pieces_of_an_answer_are_the_answer(pieces: list[tuple[str, str]]) -> None:
    said = [{"type": "user_message", "turn_id": name} for name in ("t1", "t2")]
    story = [{"type": "text_chunk", "content": text, "turn_id": name} for name, text in pieces]
    messages = shown(*said, *story)
    assert [one["content"] for one in messages] == [text for _, text in pieces]
    for turn in ("t1", "t2"):
        # A piece that names no turn is of the oldest.
        own = [
            one["metadata"]["chunk_index"]
            for (name, _), one in zip(pieces, messages, strict=True)
            if (name or "t1") == turn
        ]
        assert own == list(range(len(own)))


@given(st.lists(PIECES | ENDS, max_size=20))
def test_a_turn_ends_as_often_as_its_log_says(story: list[Json]) -> None:
    ends = {"execution_complete", "execution_error"}
    messages = shown({"type": "user_message", "turn_id": "t1"}, *story)
    terminal = {"agent.final_answer", "agent.interrupted", "agent.error"}
    assert sum(one["event"] in terminal for one in messages) == sum(
        one["type"] in ends for one in story
    )


@given(st.lists(st.tuples(TYPES, st.dictionaries(FIELDS, VALUE, max_size=6)), max_size=8))
def test_nothing_that_a_machine_writes_breaks_the_translation(
    story: list[tuple[str, Json]],
) -> None:
    for options in ({}, {"typed": True, "llm_messages": True}):
        messages = shown(
            *({**fields, "type": kind} for kind, fields in story), state=outward(**options)
        )
        for message in messages:
            assert message["session_id"] == SESSION
            assert datetime.fromisoformat(message["timestamp"]).tzinfo is not None
            assert isinstance(message.get("content", ""), str | dict)
            assert isinstance(message["metadata"], dict)
            assert not message["event"].startswith(("user.", "system."))


@given(st.lists(st.tuples(TYPES, st.dictionaries(FIELDS, VALUE, max_size=6)), max_size=12))
def test_a_translation_that_begins_later_gives_the_same_messages(
    story: list[tuple[str, Json]],
) -> None:
    """A client that returns has a translation of its own, which was shown what came before."""
    lines = [json.dumps({**fields, "type": kind}) for kind, fields in story]
    live, late = outward(), outward()
    for event_id, text in enumerate(lines, 1):
        assert messages_of(live, event_id, text) == messages_of(late, event_id, text)


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_lines_that_are_no_events_become_nothing(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    event = read(text)
    if event is None:
        assert from_events(outward(), 1, text) == []


@given(st.text(max_size=30))
def test_half_of_a_character_does_not_hide_the_rest(text: str) -> None:
    broken = json.dumps({"type": "text_chunk", "content": f"a{text}"})[:-2] + '\\ud83d"}'
    (message,) = messages_of(outward(), 1, broken)
    assert text_of(message["content"]).startswith("a")
