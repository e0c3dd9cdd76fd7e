"""The form of a MyAgent message (001, "消息格式", "错误响应格式"): the document's fields alone."""

from datetime import datetime
from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.myagent import MyAgentClient, client_of
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]

DOCUMENTED = {
    "event",
    "timestamp",
    "session_id",
    "connection_id",
    "step_id",
    "content",
    "metadata",
}
NUMBERS = {"seq", "event_id"}
"""What deployed servers add to every message (WIRE-NOTES)."""
TEXTS = {
    "agent.thinking",
    "agent.partial_answer",
    "agent.final_answer",
    "agent.session_created",
    "agent.session_end",
    "agent.error",
    "agent.interrupted",
    "system.error",
}
OBJECTS = {"agent.tool_call", "agent.tool_result", "agent.user_confirm", "system.connected"}


async def begin(client: MyAgentClient, vm: ScriptedVm) -> str:
    session = await client.create_session()
    await client.say(session, "go")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    return session


async def everything(client: MyAgentClient, vm: ScriptedVm, user: TestUser) -> None:
    """One message of every event that a client hears while it talks."""
    session = await begin(client, vm)
    call: Json = {"tool_name": "bash", "tool_call_id": "c1"}
    await vm.event(session, type="thinking", content="hm")
    await vm.event(session, type="approval_request", request_id="q-1", message="?", **call)
    await vm.event(session, type="tool_call_start", tool_input={"command": "ls"}, **call)
    await vm.event(session, type="tool_call_complete", result="a.txt", **call)
    await vm.text(session, "one file")
    await vm.event(session, type="execution_complete", content="one file")
    await client.expect("agent.final_answer")
    await user.ok("DELETE", f"/sessions/{session}")
    await client.expect("agent.session_end")
    failing, cancelled = await begin(client, vm), await begin(client, vm)
    await vm.event(failing, type="execution_error", error="no key", code="MODEL_KEY_MISSING")
    await client.expect("agent.error")
    await client.cancel(cancelled)
    await vm.expect("cancel")
    await vm.event(cancelled, type="execution_complete", cancelled=True, content="")
    await client.expect("agent.interrupted")
    await client.send_text("nonsense")
    await client.fault("INVALID_MESSAGE")


@pytest.mark.proves(
    "001-2.3-one-json-form",
    "001-2.3-timestamp-iso",
    "001-2.3-content-text-or-object",
    "001-2.3-metadata-object",
    "notes-2-content-is-text",
)
async def test_every_message_has_the_documents_fields_and_no_others(
    client: MyAgentClient, vm: ScriptedVm, user: TestUser
) -> None:
    await everything(client, vm, user)
    assert {one["event"] for one in client.received} == TEXTS | OBJECTS
    for message in client.received:
        is_call = message["event"] == "agent.tool_call"
        assert set(message) <= DOCUMENTED | NUMBERS | ({"show_content"} if is_call else set())
        assert {"event", "timestamp", "content"} | NUMBERS <= set(message), message
        assert datetime.fromisoformat(message["timestamp"]).tzinfo is not None
        wanted = str if message["event"] in TEXTS else dict
        assert isinstance(message["content"], wanted), message
        assert isinstance(message.get("metadata", {}), dict), message
        is_systems = message["event"].startswith("system.")
        assert ("session_id" in message) is not is_systems, message


async def _malformed(client: MyAgentClient, vm: ScriptedVm) -> Json:
    await client.send_text("{")
    return await client.expect("system.error")


async def _unknown_event(client: MyAgentClient, vm: ScriptedVm) -> Json:
    await client.send("agent.nonsense")
    return await client.expect("system.error")


async def _no_session(client: MyAgentClient, vm: ScriptedVm) -> Json:
    await client.say("no-such-session", "hello?")
    return await client.expect("agent.error")


async def _failed_turn(client: MyAgentClient, vm: ScriptedVm) -> Json:
    session = await begin(client, vm)
    await vm.event(session, type="execution_error", error="no key", code="MODEL_KEY_MISSING")
    return await client.expect("agent.error")


@pytest.mark.parametrize("fail", [_malformed, _unknown_event, _no_session, _failed_turn])
@pytest.mark.proves("001-6-error-form", "notes-2-error-severity")
async def test_every_error_has_a_text_a_code_and_details(
    client: MyAgentClient, vm: ScriptedVm, fail: Any
) -> None:
    error = await fail(client, vm)
    assert isinstance(error["content"], str)
    assert error["content"] != ""
    metadata = error["metadata"]
    assert isinstance(metadata["error_code"], str)
    assert isinstance(metadata["details"], dict)
    assert metadata["severity"] == "error"


@pytest.mark.proves("001-2.1-step-id-unique", "001-2.3-step-id-pairs")
async def test_two_calls_of_one_tool_at_once_are_two_steps(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    session = await begin(client, vm)
    for number in (1, 2):
        await vm.event(session, type="tool_call_start", tool_name="bash", tool_call_id=f"c{number}")
    for number in (2, 1):
        fields: Json = {"tool_name": "bash", "tool_call_id": f"c{number}"}
        await vm.event(session, type="tool_call_complete", result=f"r{number}", **fields)
    await client.expect("agent.tool_result", lambda one: one["content"]["result"] == "r1")
    first, second = (one["step_id"] for one in client.of_event("agent.tool_call"))
    assert first != second
    results = {
        one["content"]["result"]: one["step_id"] for one in client.received if is_result(one)
    }
    assert results == {"r1": first, "r2": second}


def is_result(message: Json) -> bool:
    return bool(message["event"] == "agent.tool_result")


@pytest.mark.parametrize("place", ["content", "metadata"])
@pytest.mark.parametrize("name", ["last_seq", "last_event_id"])
@pytest.mark.proves("notes-2-ack")
async def test_an_acknowledgement_may_be_a_number_or_an_id_in_content_or_metadata(
    user: TestUser, vm: ScriptedVm, place: str, name: str
) -> None:
    async with client_of(user) as first:
        session = await begin(first, vm)
        await vm.text(session, "got ")
        await first.expect("agent.partial_answer", lambda one: one["content"] == "got ")
        await vm.text(session, "missed")
        await first.expect("agent.partial_answer", lambda one: one["content"] == "missed")
        got = first.of_event("agent.partial_answer")[0]
        position = {"last_seq": got["seq"], "last_event_id": got["event_id"]}[name]
        await first.send("user.ack", **{place: {name: position}})
        await first.answered()
    async with client_of(user) as second:
        await second.reconnect(session)
        await second.expect("agent.partial_answer")
        await second.answered()
        assert second.text(session) == "missed"
