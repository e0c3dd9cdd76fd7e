"""This machine as a device of a foreign AGP server, against whatever that server sends."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.foreign_servers import AgpServer
from tests.unit.execution.ws.foreign.machine import Machine, agp_machine, connected

PAYLOAD = {
    "session_id": "s-1",
    "prompt_id": "p-1",
    "agent_app": "x",
    "content": [{"type": "text", "text": "Hello"}, {"type": "image"}],
}
PROMPT: dict[str, Any] = {
    "msg_id": "m-1",
    "guid": "device_001",
    "user_id": "user_123",
    "method": "session.prompt",
    "payload": PAYLOAD,
}


@pytest.fixture
async def server() -> AsyncIterator[AgpServer]:
    async with AgpServer() as made:
        yield made


@pytest.fixture
async def machine(server: AgpServer, tmp_path: Path) -> AsyncIterator[Machine]:
    async with connected(agp_machine(server, tmp_path)) as made:
        await server.connected()
        yield made


def with_payload(**fields: Any) -> dict[str, Any]:
    return {**PROMPT, "payload": {**PAYLOAD, **fields}}


async def test_a_prompt_starts_its_session_and_is_its_message(
    server: AgpServer, machine: Machine
) -> None:
    await server.send(PROMPT)
    assert await machine.until_told("user_message") == {
        "message": "Hello\n[image]",
        "turn_id": "p-1",
    }
    assert machine.starts == ["s-1"]


async def test_the_same_prompt_runs_once_whatever_its_message_is_called(
    server: AgpServer, machine: Machine
) -> None:
    await server.send(PROMPT)
    await server.send(PROMPT)
    await server.send({**PROMPT, "msg_id": "m-2"})
    await machine.until_told("user_message")
    machine.end("s-1", "p-1")
    first = await server.answer("p-1")
    await server.send({**PROMPT, "msg_id": "m-3"})
    await server.send({**with_payload(prompt_id="p-2"), "msg_id": "m-4"})
    await machine.until_told("user_message", 2)
    assert [one["turn_id"] for one in machine.all("user_message")] == ["p-1", "p-2"]
    assert server.answers("p-1") == [first]
    raw = [one for one in server.received if one["payload"].get("prompt_id") == "p-1"]
    assert len(raw) == 2  # asked again, the answer is given again, under the same id


async def test_after_a_reconnect_it_shows_that_it_still_has_its_turn(
    server: AgpServer, machine: Machine
) -> None:
    await server.send(PROMPT)
    await machine.until_told("user_message")
    server.cut()
    (update,) = await server.until(lambda: server.updates("p-1", "message_chunk"), "sign of life")
    assert update["content"] == {"type": "text", "text": ""}
    assert len(server.queries) == 2
    machine.end("s-1", "p-1")
    await server.answer("p-1")


HOSTILE: list[Any] = [
    "",
    "null",
    "[]",
    "{",
    "[" * 100_000,
    '{"method": 1}',
    '{"method": "session.prompt"}',
    '{"method": "session.prompt", "payload": null}',
    '{"method": "session.cancel", "msg_id": "x", "payload": {"session_id": ""}}',
    '{"method": "session.update"}',
    '{"method": "something.new", "payload": {}}',
    json.dumps({**PROMPT, "payload": []}),
    json.dumps({**PROMPT, "msg_id": ""}),
    json.dumps({**PROMPT, "msg_id": 7, "payload": {"session_id": 1, "prompt_id": 2}}),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_a_message_that_makes_no_sense_costs_nothing_but_itself(
    server: AgpServer, machine: Machine, text: str
) -> None:
    await server.send(text)
    await server.send(with_payload(prompt_id="p-good", session_id="s-good"))
    assert (await machine.until_told("user_message"))["turn_id"] == "p-good"
    assert len(server.queries) == 1


@pytest.mark.parametrize(
    "broken",
    [
        with_payload(content="text"),
        with_payload(content=None),
        with_payload(content=[{"text": "no type"}]),
        with_payload(agent_app=7),
        with_payload(session_id="/" * 150),
    ],
    ids=range(5),
)
async def test_a_prompt_that_cannot_be_run_ends_with_an_error(
    server: AgpServer, machine: Machine, broken: dict[str, Any]
) -> None:
    await server.send(broken)
    answer = await server.answer("p-1")
    assert answer["stop_reason"] == "error"
    assert answer["session_id"] == broken["payload"]["session_id"]
    assert answer["error"]
    assert machine.starts == []


async def test_a_session_may_have_any_name_and_keeps_it(
    server: AgpServer, machine: Machine
) -> None:
    await server.send(with_payload(session_id="../../会话"))
    await machine.until_told("user_message")
    [session_id] = machine.starts
    assert "/" not in session_id
    machine.end(session_id, "p-1")
    assert (await server.answer("p-1"))["session_id"] == "../../会话"


async def test_a_session_that_cannot_be_started_ends_its_prompts(
    server: AgpServer, machine: Machine
) -> None:
    machine.is_broken = True
    await server.send(PROMPT)
    await server.send({**with_payload(prompt_id="p-2"), "msg_id": "m-2"})
    for prompt_id in ("p-1", "p-2"):
        assert (await server.answer(prompt_id))["stop_reason"] == "error"


async def test_a_cancel_of_a_prompt_that_never_came_is_answered(
    server: AgpServer, machine: Machine
) -> None:
    await server.cancel("s-1", "p-unknown")
    assert (await server.answer("p-unknown"))["stop_reason"] == "cancelled"
    assert machine.told == []


async def test_a_question_is_answered_with_a_no_that_says_why(
    server: AgpServer, machine: Machine
) -> None:
    await server.send(PROMPT)
    await machine.until_told("user_message")
    machine.event("s-1", "approval_request", turn_id="p-1", request_id="r-1", kind="approve")
    answer = await machine.until_told("approval_response")
    assert (answer["request_id"], answer["confirmed"]) == ("r-1", False)
    assert "--confirm never" in answer["answer"]


async def test_what_needs_a_control_plane_fails_at_once(machine: Machine) -> None:
    with pytest.raises(ConnectionError, match="no control plane"):
        await machine.client.request("s-1", "memory_search", query="x")
    machine.client.fire_and_forget("s-1", "usage_report", model="m")


async def test_an_end_that_comes_again_after_a_restart_is_sent_once(
    server: AgpServer, tmp_path: Path
) -> None:
    first = agp_machine(server, tmp_path)
    first.end("s-1", "p-1", "The answer.")
    await first.client.close()
    second = agp_machine(server, tmp_path)
    second.event("s-1", "execution_error", turn_id="p-1", error="restarted", code="X")
    async with connected(second):
        answer = await server.answer("p-1")
        assert answer["content"] == [{"type": "text", "text": "The answer."}]
        second.end("s-1", "p-2")
        await server.answer("p-2")
        assert len(server.answers("p-1")) == 1


@pytest.mark.parametrize(
    ("address", "why"), [({"token": "wrong"}, "HTTP 401"), ({"guid": ""}, "HTTP 400")]
)
@pytest.mark.proves("notes-4-wrong-token-is-401")
async def test_a_server_that_refuses_this_machine_is_not_asked_again(
    server: AgpServer, tmp_path: Path, address: dict[str, str], why: str
) -> None:
    async with connected(agp_machine(server, tmp_path, **address)) as machine:
        assert why in await machine.refusal()
        assert len(server.queries) == 1
