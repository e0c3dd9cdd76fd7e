"""MyAgent clients that send nonsense: each piece is answered, and the connection lives."""

import json
from typing import Any

import pytest

from tests.support.myagent import MyAgentClient
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

EVENTS = (
    "user.create_session",
    "user.message",
    "user.response",
    "user.cancel",
    "user.reconnect",
    "user.ack",
    "user.request_state",
    "user.reconnect_with_state",
    "user.solve_tasks",
    "user.cancel_task",
    "user.restart_task",
    "user.cancel_plan",
    "user.replan",
)
DEEP = json.loads("[" * 60 + "]" * 60)
ODD: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "minus": -1,
    "float": 1.5,
    "large": 10**18,
    "empty": "",
    "text": "x",
    "long": "x" * 200_000,
    "path": "../../etc",
    "sql": "' OR 1=1 --",
    "list": [1, "a", None],
    "object": {"a": {"b": 1}},
    "deep": DEEP,
}


async def still_works(client: MyAgentClient, vm: ScriptedVm) -> None:
    session = await client.create_session()
    await client.say(session, "still there?")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    await vm.event(session, type="execution_complete", content="yes")
    await client.expect("agent.final_answer", lambda one: one["session_id"] == session)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "{",
        "[]",
        "7",
        "null",
        '"user.message"',
        "{}",
        '{"event": null}',
        '{"event": 7}',
        '{"event": ["user.message"]}',
        '{"event": "user.message", "content": "\\u0000"}',
        '{"event": "user.message", "content": "\\ud800"}',
        '{"event": "user.message", "content": ' + "[" * 100 + "]" * 100 + "}",
        '{"event": "user.message", "content": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"event": "user.ack", "last_seq": ' + "9" * 400 + "}",
        '{"event": "user.message", "content": NaN}',
    ],
    ids=lambda text: text[:40],
)
@pytest.mark.proves(
    "001-2.3-event-required",
    "001-3.3-error",
    "001-6-protocol-errors",
    "001-6-error-form",
    "001-7-error-kinds-are-told-apart",
)
async def test_what_is_no_message_is_answered_and_the_connection_lives(
    client: MyAgentClient, vm: ScriptedVm, text: str
) -> None:
    await client.send_text(text)
    fault = await client.fault("INVALID_MESSAGE")
    assert fault["event"] == "system.error"
    assert "session_id" not in fault
    assert fault["content"]
    assert fault["metadata"]["severity"] == "error"
    await still_works(client, vm)


@pytest.mark.parametrize(
    "event",
    ["", "user", "agent.final_answer", "system.connected", "x" * 999],
)
@pytest.mark.proves("001-2.2-user-events-go-up")
async def test_an_event_that_is_no_clients_is_answered(
    client: MyAgentClient, vm: ScriptedVm, event: str
) -> None:
    await client.send(event, session_id="x", content="y")
    assert (await client.fault("UNKNOWN_EVENT"))["event"] == "system.error"
    await still_works(client, vm)


@pytest.mark.parametrize(
    "field",
    ["session_id", "step_id", "content", "metadata", "signed_state", "last_seq", "last_event_id"],
)
async def test_odd_values_in_any_field_of_any_event_harm_nobody(
    client: MyAgentClient, vm: ScriptedVm, field: str
) -> None:
    session = await client.create_session()
    for event in EVENTS:
        for value in ODD.values():
            fields = {"session_id": session, "step_id": "step_1_x", "content": "no", field: value}
            await client.send(event, **fields)
    await client.answered()
    codes = [one["metadata"]["error_code"] for one in client.received if "error" in one["event"]]
    assert "INTERNAL_ERROR" not in codes
    await still_works(client, vm)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("user.message", {"content": "hi"}),
        ("user.message", {"session_id": "", "content": "hi"}),
        ("user.message", {"session_id": 7, "content": "hi"}),
        ("user.message", {"session_id": "S"}),
        ("user.message", {"session_id": "S", "content": ""}),
        ("user.message", {"session_id": "S", "content": {"no": "text"}}),
        ("user.response", {"session_id": "S", "content": True}),
        ("user.response", {"step_id": "confirm_x", "content": True}),
        ("user.cancel", {}),
        ("user.reconnect", {}),
        ("user.request_state", {}),
        ("user.cancel_plan", {}),
    ],
)
@pytest.mark.proves(
    "001-2.3-session-id-required",
    "001-3.1-required-fields",
)
async def test_a_missing_field_is_named(
    client: MyAgentClient, vm: ScriptedVm, event: str, fields: Any
) -> None:
    session = await client.create_session()
    if fields.get("session_id") == "S":
        fields = {**fields, "session_id": session}
    await client.send(event, **fields)
    fault = await client.fault("MISSING_FIELD")
    assert fault["event"] == "system.error"
    assert any(name in fault["content"] for name in ("session_id", "content", "step_id", "last_"))


@pytest.mark.parametrize(
    "content",
    [
        {"agent_config": "x"},
        {"agent_id": 7},
        {"machine_id": ["x"]},
        {"runtime_type": "../bin/sh"},
        {"title": "x" * 201},
        {"session_config": []},
    ],
)
async def test_a_choice_of_a_wrong_type_makes_no_session(
    client: MyAgentClient, vm: ScriptedVm, content: Any
) -> None:
    await client.send("user.create_session", content=content)
    fault = await client.fault("INVALID_REQUEST")
    assert fault["event"] == "system.error"
    assert next(iter(content)) in fault["content"]
    assert client.of_event("agent.session_created") == []


@pytest.mark.parametrize(
    "event",
    [
        {"type": "text_chunk", "content": {"not": "text"}},
        {"type": "text_chunk", "content": "half \ud83d"},
        {"type": "tool_call_start", "tool_name": ["x"], "tool_call_id": 7, "tool_input": "x"},
        {"type": "tool_call_complete", "result": {"deep": DEEP}, "ts": "late"},
        {"type": "usage", "tokens_in": "many", "models": []},
        {"type": "plan", "plan": 7},
        {"type": "approval_request", "request_id": 7, "kind": {}, "options": "x"},
        {"type": "approval_request", "request_id": "r\x00\ud800", "timeout_seconds": -1},
        {"type": "session_status", "machine": {"x": 1}},
        {"type": "execution_error", "error": None, "code": [], "details": "x"},
        {"type": "thinking", "content": "x", "ts": 10**30, "turn_id": [], "person": 7},
    ],
    ids=lambda event: event["type"],
)
async def test_odd_events_of_a_machine_break_no_connection(
    client: MyAgentClient, vm: ScriptedVm, event: Any
) -> None:
    session = await client.create_session()
    await client.say(session, "go")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    await vm.event(session, **event)
    await vm.text(session, "after")
    await client.expect("agent.partial_answer", lambda one: one["content"].endswith("after"))
