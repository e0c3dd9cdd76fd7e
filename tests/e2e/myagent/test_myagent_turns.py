"""MyAgent clients talk to a session: what document 001 promises, on real sockets."""

import asyncio
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.myagent import Json, MyAgentClient, client_of
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def begin(client: MyAgentClient, vm: ScriptedVm, text: Any = "hello") -> str:
    """A new session with a turn under way."""
    session = await client.create_session()
    await client.say(session, text)
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    return session


def saying(text: str) -> Callable[[Json], bool]:
    return lambda message: bool(message["content"].endswith(text))


def check_rules(messages: list[Json]) -> None:
    """What holds for every message that a server sends."""
    connection_id = messages[0]["connection_id"]
    for seq, message in enumerate(messages, 1):
        assert datetime.fromisoformat(message["timestamp"]).tzinfo is not None
        assert message["seq"] == seq
        assert message["event_id"] == f"{connection_id}-{seq}"
        category = message["event"].partition(".")[0]
        assert ("session_id" in message) == (category != "system"), message
        assert isinstance(message.get("content", ""), str | dict)
        assert message["metadata"]["connection_id"] == connection_id


@pytest.mark.proves(
    "001-1-both-ways",
    "001-1-streaming",
    "001-2.1-connection-id-unique",
    "001-2.1-session-id-unique",
    "001-2.1-step-id-of-a-call",
    "001-2.1-step-id-spans-request-and-response",
    "001-2.2-three-categories",
    "001-2.2-agent-and-system-events-go-down",
    "001-2.2-agent-events-have-a-session",
    "001-2.2-system-events-have-none",
    "001-2.3-one-json-form",
    "001-2.3-timestamp-iso",
    "001-2.3-step-id-pairs",
    "001-2.3-content-text-or-object",
    "001-2.3-metadata-object",
    "001-3.1-create-session",
    "001-3.1-message",
    "001-3.2-session-created",
    "001-3.2-thinking",
    "001-3.2-tool-call",
    "001-3.2-tool-result",
    "001-3.2-partial-answer",
    "001-3.2-final-answer",
    "001-4.1-basic-flow",
    "001-4.2-tool-flow",
)
@pytest.mark.proves("notes-2-seq", "notes-2-connection-id")
async def test_a_turn_from_the_first_word_to_the_answer(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    session = await begin(client, vm)
    await vm.event(session, type="thinking", content="hm", stage="reasoning")
    await vm.event(
        session,
        type="tool_call_start",
        tool_name="bash",
        tool_input={"command": "ls"},
        tool_call_id="c1",
        ts=1_700_000_000_000,
    )
    await vm.event(
        session,
        type="tool_call_complete",
        tool_name="bash",
        tool_call_id="c1",
        result="a.txt",
        ts=1_700_000_000_250,
    )
    await vm.text(session, "one file")
    await vm.event(session, type="usage", tokens_in=10, tokens_out=5, models={"m1": {}})
    await vm.event(session, type="execution_complete", content="one file")
    final = await client.expect("agent.final_answer")
    assert final["content"] == "one file"
    assert final["metadata"]["answer_type"] == "text"
    assert final["metadata"]["total_tokens_used"] == 15
    assert final["metadata"]["model"] == "m1"
    assert [one["event"] for one in client.received] == [
        "system.connected",
        "agent.session_created",
        "agent.thinking",
        "agent.thinking",
        "agent.tool_call",
        "agent.tool_result",
        "agent.partial_answer",
        "agent.final_answer",
    ]
    check_rules(client.received)
    call, result = client.of_event("agent.tool_call")[0], client.of_event("agent.tool_result")[0]
    assert re.fullmatch(r"step_\d+_bash", call["step_id"])
    assert result["step_id"] == call["step_id"]
    assert call["content"]["arguments"] == {"command": "ls"}
    assert result["content"] == {"result": "a.txt", "status": "success"}
    assert result["metadata"]["execution_time_ms"] == 250
    (piece,) = client.of_event("agent.partial_answer")
    assert piece["metadata"]["chunk_index"] == 0
    UUID(client.connection_id)
    UUID(session)


@pytest.mark.proves("notes-2-one-turn-at-a-time")
async def test_a_second_message_while_a_turn_runs_is_an_error_without_effect(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    session = await begin(client, vm)
    await client.say(session, "and another")
    fault = await client.fault("TURN_RUNNING")
    assert (fault["event"], fault["session_id"]) == ("agent.error", session)
    await vm.event(session, type="execution_complete", content="done")
    await client.expect("agent.final_answer")
    await client.say(session, "next")
    await vm.expect("user_message", lambda one: one["data"]["message"] == "next")
    said = [one for one in vm.of_type("user_message") if one["session_id"] == session]
    assert [one["data"]["message"] for one in said] == ["hello", "next"]


async def test_of_messages_at_once_one_opens_the_turn(user: TestUser, vm: ScriptedVm) -> None:
    session = await user.session()
    async with client_of(user) as one, client_of(user) as two, client_of(user) as three:
        clients = (one, two, three)
        await asyncio.gather(*(client.say(session, "me first") for client in clients))
        for client in clients:
            await client.answered()
        refused = [client for client in clients if client.of_event("agent.error")]
        assert len(refused) == 2
        for client in refused:
            await client.fault("TURN_RUNNING")
        events = (await user.ok("GET", f"/sessions/{session}/events"))["items"]
        assert [item["event"]["type"] for item in events].count("user_message") == 1


async def test_a_turn_that_somebody_else_started_runs_too(
    client: MyAgentClient, vm: ScriptedVm, user: TestUser
) -> None:
    session = await client.create_session()
    await user.say(session, "over REST")
    await client.say(session, "over MyAgent")
    await client.fault("TURN_RUNNING")


async def test_a_message_that_is_sent_again_under_its_name_has_one_effect(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    session = await client.create_session()
    for _ in range(2):
        await client.say(session, "once", metadata={"client_message_id": "m-1"})
    await client.answered()
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    assert len([one for one in vm.of_type("user_message") if one["session_id"] == session]) == 1
    assert client.of_event("agent.error") == []


async def test_an_error_names_the_message_that_it_answers_and_a_failed_turn_none(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    session = await begin(client, vm)
    await client.say(session, "more")
    refused = await client.fault("TURN_RUNNING")
    assert refused["metadata"]["answers"] == "user.message"
    await vm.event(session, type="execution_error", error="no", code="MODEL_ERROR")
    failed = await client.fault("MODEL_ERROR")
    assert "answers" not in failed["metadata"]


@pytest.mark.parametrize("content", ["", "  ", "\n\t", {"text": " "}], ids=repr)
async def test_a_message_that_says_nothing_is_refused(
    client: MyAgentClient, vm: ScriptedVm, content: Any
) -> None:
    session = await client.create_session()
    await client.say(session, content)
    fault = await client.fault("MISSING_FIELD")
    assert fault["event"] == "system.error"
    assert [one for one in vm.of_type("user_message") if one["session_id"] == session] == []


@pytest.mark.proves(
    "001-3.2-error",
    "001-6-agent-failure",
    "001-6-error-form",
)
async def test_a_turn_that_fails_is_an_agent_error(client: MyAgentClient, vm: ScriptedVm) -> None:
    session = await begin(client, vm)
    await vm.event(session, type="execution_error", error="no key", code="MODEL_KEY_MISSING")
    error = await client.expect("agent.error")
    assert (error["session_id"], error["content"]) == (session, "no key")
    assert error["metadata"]["error_code"] == "MODEL_KEY_MISSING"


@pytest.mark.proves("001-3.2-session-end")
@pytest.mark.proves("notes-2-session-end")
async def test_a_closed_session_is_told(
    client: MyAgentClient, vm: ScriptedVm, user: TestUser
) -> None:
    session = await client.create_session()
    await user.ok("DELETE", f"/sessions/{session}")
    end = await client.expect("agent.session_end")
    assert (end["session_id"], end["metadata"]["reason"]) == (session, "user_closed")
    assert end["metadata"]["total_duration_ms"] >= 0
    await client.say(session, "anybody there?")
    assert (await client.fault("SESSION_CLOSED"))["session_id"] == session


@pytest.mark.proves(
    "001-2.1-many-sessions-per-connection",
    "001-7-session-isolation",
    "001-7-batched-delivery",
)
async def test_many_sessions_share_a_connection_and_stay_apart(
    client: MyAgentClient, vm: ScriptedVm
) -> None:
    sessions = [await begin(client, vm, f"number {index}") for index in range(5)]
    for round_ in range(3):
        for session in sessions:
            await vm.text(session, f"{round_}:{session} ")
    for session in sessions:
        await client.expect("agent.partial_answer", saying(f"2:{session} "))
        assert client.text(session) == "".join(f"{n}:{session} " for n in range(3))
    check_rules(client.received)


@pytest.mark.proves("001-4.1-agent-instance")
@pytest.mark.proves("notes-2-session-created")
async def test_a_session_is_made_as_the_client_wants_it(
    client: MyAgentClient, vm: ScriptedVm, user: TestUser
) -> None:
    machine = (await user.ok("GET", "/machines"))["items"][0]["id"]
    agent = await user.ok("POST", "/agents", {"name": "poet", "system_prompt": "in rhymes"})
    session = await client.create_session(
        {
            "machine_id": machine,
            "agent_id": agent["id"],
            "agent_config": {"temperature": 0.5},
            "runtime_type": "semigraph",
            "title": "odes",
            "something_else": 1,
        }
    )
    created = client.of_event("agent.session_created", session)[0]
    assert created["metadata"]["agent_name"] == "poet"
    assert created["metadata"]["agent_type"] == "semigraph"
    start = await vm.expect("start_session", lambda one: one["data"]["session_id"] == session)
    assert start["data"]["agent_config"]["system_prompt"] == "in rhymes"
    assert start["data"]["agent_config"]["temperature"] == 0.5
    record = await user.ok("GET", f"/sessions/{session}")
    assert (record["title"], record["machine_id"]) == ("odes", machine)


async def test_a_session_with_a_group_has_the_groups_name(
    client: MyAgentClient, user: TestUser
) -> None:
    group = await user.ok("POST", "/groups", {"name": "band", "person_ids": []})
    session = await client.create_session({"machine_id": group["id"], "title": "rehearsal"})
    (created,) = client.of_event("agent.session_created", session)
    assert created["metadata"]["agent_name"] == "band"


@pytest.mark.parametrize("content", [None, "create_session", {}, {"machine_id": None}, [], 7])
@pytest.mark.proves("001-3.1-create-session")
async def test_a_session_needs_no_choices(
    client: MyAgentClient, vm: ScriptedVm, content: Any
) -> None:
    session = await client.create_session(content)
    await vm.expect("start_session", lambda one: one["data"]["session_id"] == session)


@pytest.mark.parametrize("content", ["hi", {"text": "hi"}, {"message": "hi"}])
async def test_a_message_is_text_or_has_it(
    client: MyAgentClient, vm: ScriptedVm, content: Any
) -> None:
    session = await begin(client, vm, content)
    said = await vm.expect("user_message", lambda one: one["session_id"] == session)
    assert said["data"]["message"] == "hi"


async def test_a_session_of_another_client_can_be_spoken_to_and_is_followed_from_then(
    client: MyAgentClient, vm: ScriptedVm, user: TestUser
) -> None:
    session = await user.session()
    await client.say(session, "hello")
    await vm.expect("user_message", lambda one: one["session_id"] == session)
    await vm.event(
        session,
        type="execution_complete",
        content="hi",
    )
    assert (await client.expect("agent.final_answer"))["session_id"] == session


@pytest.mark.proves("notes-2-typed-shape")
async def test_the_answer_comes_in_the_shape_that_was_asked_for(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user, "/ws/myagent?shape=typed") as client:
        session = await begin(client, vm)
        await vm.event(session, type="execution_complete", content='{"a": 1}')
        final = await client.expect("agent.final_answer")
        assert final["content"] == {"answer": '{"a": 1}', "answer_type": "json"}


@pytest.mark.proves("001-2.1-session-lives-until-it-ends")
async def test_the_end_of_a_connection_leaves_its_session_running(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with client_of(user) as client:
        session = await begin(client, vm)
    await vm.text(session, "still here")

    async def events() -> list[str]:
        found = await user.ok("GET", f"/sessions/{session}/events")
        return [one["event"]["type"] for one in found["items"]]

    assert "text_chunk" in await eventually(events, lambda found: "text_chunk" in found)
    assert (await user.ok("GET", f"/sessions/{session}"))["status"] == "active"
    assert not vm.of_type("stop_session")
