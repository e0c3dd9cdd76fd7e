"""This machine as an agent of a foreign Yeaft server, against whatever that server sends."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiohttp import web

from tests.support.foreign_servers import YeaftServer
from tests.unit.execution.ws.foreign.machine import Machine, connected, yeaft_machine


@pytest.fixture
async def server() -> AsyncIterator[YeaftServer]:
    async with YeaftServer() as made:
        yield made


@pytest.fixture
async def machine(server: YeaftServer, tmp_path: Path) -> AsyncIterator[Machine]:
    async with connected(yeaft_machine(server, tmp_path)) as made:
        await server.first("agent_sync_complete")
        yield made


HOSTILE: list[str] = [
    "",
    "[]",
    "{",
    "[" * 100_000,
    '{"type": 7}',
    '{"type": "new_type", "conversationId": "c"}',
    '{"type": "send_message"}',
    '{"type": "send_message", "conversationId": 7, "text": "x"}',
    '{"type": "send_message", "conversationId": "c", "text": {"a": 1}}',
    '{"type": "send_message", "conversationId": "c", "text": ""}',
    '{"type": "send_message", "conversationId": "c", "text": "x", "attachments": "y"}',
    '{"type": "send_message", "conversationId": "c", "text": "x", "attachments": [{"base64": 1}]}',
    json.dumps({"type": "send_message", "conversationId": "/" * 500, "text": "x"}),
    '{"type": "create_conversation", "conversationId": ["c"]}',
    '{"type": "resume_conversation", "conversationId": "c", "sessionId": {"x": 1}}',
    '{"type": "ask_user_answer", "requestId": "unknown", "answer": "yes"}',
    '{"type": "ask_user_answer"}',
    '{"type": "cancel_execution", "conversationId": "unknown"}',
    '{"type": "unify_group_chat", "groupId": "g", "text": "hello"}',
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_a_message_that_makes_no_sense_costs_nothing_but_itself(
    server: YeaftServer, machine: Machine, text: str
) -> None:
    await server.send(text)
    await server.say("send_message", conversationId="good", text="Hello")
    assert (await machine.until_told("user_message"))["message"] == "Hello"
    assert machine.starts == ["good"]
    assert len(server.queries) == 1


async def test_whoever_sent_something_that_cannot_be_taken_is_told(
    server: YeaftServer, machine: Machine
) -> None:
    await server.say("send_message", conversationId="c", requestId="r-1")
    error = await server.first("error")
    assert (error["code"], error["requestId"]) == ("INVALID_MESSAGE", "r-1")
    await server.say("yeaft_session_chat", conversationId="c", groupId="g", text="hi")
    assert (await server.first("error", count=2))["code"] == "NOT_SUPPORTED"


async def test_a_conversation_without_a_name_is_given_one(
    server: YeaftServer, machine: Machine
) -> None:
    await server.say("create_conversation", provider="p", workDir="x")
    ready = await server.first("session_ready")
    assert ready["conversationId"]
    assert ready["provider"] == "p"
    assert machine.starts == [ready["conversationId"]]


async def test_a_message_that_comes_again_runs_once(server: YeaftServer, machine: Machine) -> None:
    for _ in range(2):
        await server.say("send_message", conversationId="c", text="One", clientMessageId="m-1")
    await server.say("send_message", conversationId="c", text="Two", clientMessageId="m-2")
    first = await machine.until_told("user_message")
    machine.end("c", first["turn_id"])
    second = await machine.until_told("user_message", 2)
    assert (first["message"], second["message"]) == ("One", "Two")


async def test_a_message_that_was_refused_may_come_again_under_its_name(
    server: YeaftServer, machine: Machine
) -> None:
    said = {"conversationId": "c", "text": "One", "clientMessageId": "m-1"}
    await server.say("send_message", **said, attachments="broken")
    await server.first("error")
    await server.say("send_message", **said)
    assert (await machine.until_told("user_message"))["message"] == "One"


async def test_files_of_either_dialect_travel_with_the_message(
    server: YeaftServer, machine: Machine
) -> None:
    file = {"name": "a.txt", "mimeType": "text/plain", "data": "aGk="}
    await server.say("transfer_files", conversationId="c", prompt="Read.", files=[file])
    told = await machine.until_told("user_message")
    wanted = {"name": "a.txt", "mime": "text/plain", "base64": "aGk="}
    assert told["metadata"] == {"attachments": [wanted]}


async def test_an_answer_goes_to_the_session_that_asked_and_counts_once(
    server: YeaftServer, machine: Machine
) -> None:
    for name in ("c-1", "c-2"):
        await server.say("send_message", conversationId=name, text="Go.")
    await machine.until_told("user_message", 2)
    machine.event("c-2", "approval_request", request_id="r-2", kind="approve", message="May I?")
    await server.first("ask_user_question", "c-2")
    for answer in ("yes", "no"):
        await server.say("ask_user_answer", conversationId="c-1", requestId="r-2", answer=answer)
    await server.say("send_message", conversationId="c-3", text="Go.")
    await machine.until_told("user_message", 3)
    answers = [(one, data) for one, kind, data in machine.told if kind == "approval_response"]
    assert answers == [("c-2", {"request_id": "r-2", "confirmed": True, "answer": "yes"})]


async def test_it_says_whether_it_is_busy_and_what_it_has(
    server: YeaftServer, machine: Machine
) -> None:
    assert (await server.first("agent_status"))["state"] == "idle"
    await server.say("send_message", conversationId="c", text="Go.")
    await machine.until_told("user_message")
    server.cut()
    assert (await server.first("agent_status", count=2))["state"] == "busy"
    listed = await server.first("conversation_list", count=2)
    [listed_one] = listed["conversations"]
    assert (listed_one["id"], listed_one["processing"]) == ("c", True)


async def test_a_turn_whose_end_the_server_has_not_heard_is_listed_as_running(
    server: YeaftServer, machine: Machine
) -> None:
    await server.say("execute", conversationId="c", prompt="Go.")
    told = await machine.until_told("user_message")
    server.cut()
    machine.running.remove("c")
    machine.end("c", told["turn_id"])
    [listed] = (await server.first("conversation_list", count=2))["conversations"]
    assert (listed["id"], listed["processing"]) == ("c", True)
    await server.first("turn_completed", "c")


async def test_a_server_hears_of_a_conversation_before_anything_is_said_in_it(
    server: YeaftServer, machine: Machine
) -> None:
    machine.event("left", "execution_error", turn_id="t", error="restarted", code="X")
    await server.result("left")
    kinds = [one["type"] for one in server.received if "left" in json.dumps(one)]
    assert kinds[:2] == ["conversation_list", "claude_output"]


async def test_a_cancel_of_nothing_is_answered_where_somebody_waits_for_the_word(
    server: YeaftServer, machine: Machine
) -> None:
    await server.say("execute", conversationId="c", prompt="Go.")
    told = await machine.until_told("user_message")
    machine.end("c", told["turn_id"])
    await server.first("turn_completed", "c")
    await server.say("cancel_execution", conversationId="c")
    await server.first("execution_cancelled", "c")


async def test_a_turn_that_a_restart_ended_is_told_in_the_dialect_that_was_spoken(
    server: YeaftServer, tmp_path: Path
) -> None:
    async with connected(yeaft_machine(server, tmp_path)) as first:
        await server.connected()
        await server.say("execute", conversationId="c", prompt="Go.")
        told = await first.until_told("user_message")
    async with connected(yeaft_machine(server, tmp_path)) as second:
        second.event("c", "execution_error", turn_id=told["turn_id"], error="x", code="X")
        await server.first("turn_completed", "c")
        await server.say("cancel_execution", conversationId="d")
        await server.first("execution_cancelled", "d")
        assert second.told == []


class _Encrypting(YeaftServer):
    key: ClassVar[dict[str, Any]] = {"sessionKey": "abc", "acceptPlaintext": False}

    async def let_in(self, line: web.WebSocketResponse) -> bool:
        await line.send_str(json.dumps({"type": "registered", "agentId": "a", **self.key}))
        return True


class _Older(_Encrypting):
    """From before plain text could be agreed on."""

    key: ClassVar[dict[str, Any]] = {"sessionKey": "abc"}


@pytest.mark.parametrize(
    ("made", "wanted"),
    [(YeaftServer, "wrong secret"), (_Encrypting, "encrypted"), (_Older, "encrypted")],
)
async def test_a_server_that_cannot_be_worked_for_is_not_asked_again(
    tmp_path: Path, made: type[YeaftServer], wanted: str
) -> None:
    async with (
        made() as server,
        connected(yeaft_machine(server, tmp_path, secret="wrong")) as machine,
    ):
        assert wanted in await machine.refusal()
        assert len(server.queries) == 1
