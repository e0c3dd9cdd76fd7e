"""A Yeaft web client on a machine of another kind: the life of a conversation (002)."""

import json
from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.vm import ScriptedVm
from tests.support.yeaft_web import heard, started, web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.proves("002-5.2-translated", "002-10-server-chooses", "002-2-routing-fields")
@pytest.mark.proves(
    "002-8-lifecycle", "002-4.1-send-message", "002-4.1-create-conversation", "002-1-flat-envelope"
)
@pytest.mark.proves("002-1-type-names")
async def test_a_turn_streams_text_thinking_tools_and_one_result(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create(workDir="/work", options={"model": "gpt-x"})
        start = await vm.expect("start_session")
        assert start["data"]["session_id"] == session
        assert start["data"]["agent_config"]["model"] == "gpt-x"
        await web.send("send_message", conversationId=session, text="hello")
        told = await vm.expect("user_message")
        assert (told["session_id"], told["data"]["message"]) == (session, "hello")
        await vm.event(session, type="thinking", content="hm")
        await vm.text(session, "Hi ", "there")
        call: dict[str, Any] = {"tool_name": "bash", "tool_call_id": "c1"}
        await vm.event(session, type="tool_call_start", tool_input={"c": "ls"}, **call)
        await vm.event(session, type="tool_call_complete", result="a.txt", **call)
        await vm.text(session, "done")
        await vm.event(session, type="execution_complete", content="done")
        result = await web.result()
        assert (result["subtype"], result["result"]) == ("success", "done")
        blocks = [
            block
            for data in web.outputs(session)
            if "message" in data
            for block in data["message"]["content"]
        ]
        assert [block["type"] for block in blocks] == [
            "thinking",
            "text",
            "text",
            "tool_use",
            "tool_result",
            "text",
        ]
        assert blocks[3]["id"] == blocks[4]["tool_use_id"] == "c1"


@pytest.mark.proves("002-8-next-turn")
async def test_after_a_turn_comes_the_next(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        session = await web.create()
        for number in range(3):
            since = len(web.received)
            await web.send("send_message", conversationId=session, text=f"q{number}")
            await vm.expect("user_message", heard(f"q{number}"))
            await vm.event(session, type="execution_complete", content=f"a{number}")
            assert (await web.result(since))["result"] == f"a{number}"


@pytest.mark.proves("002-6-attachments")
async def test_attachments_and_unknown_fields_travel_with_the_message(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        file = {"name": "a.txt", "mime": "text/plain", "base64": "aGk="}
        await web.send(
            "send_message", conversationId=session, text="look", attachments=[file], mood="good"
        )
        metadata = (await vm.expect("user_message"))["data"]["metadata"]
        assert metadata["attachments"] == [file]
        assert metadata["yeaft"] == {"mood": "good"}
        await web.send("send_message", conversationId=session, attachments=[file])
        await vm.expect("user_message", heard("Attached: a.txt"))


@pytest.mark.proves("002-11-client-may-send-again")
async def test_the_same_message_twice_has_one_effect(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        session = await web.create()
        said = {"conversationId": session, "text": "once", "clientMessageId": "cm_1"}
        await web.send("send_message", **said)
        await web.send("send_message", **said)
        await web.ask("ping", "pong")
        await vm.expect("user_message")
        await vm.event(session, type="execution_complete", content="ok")
        await web.result()
        assert len(vm.of_type("user_message")) == 1


@pytest.mark.proves("002-4.1-cancel-execution")
async def test_cancel_stops_the_turn(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await web.send("send_message", conversationId=session, text="long")
        await vm.expect("user_message")
        await web.send("cancel_execution", conversationId=session)
        await vm.expect("cancel")
        await vm.event(session, type="execution_complete", cancelled=True)
        result = await web.result()
        assert (result["subtype"], result["is_error"]) == ("error_during_execution", False)


@pytest.mark.proves("002-4.1-delete-conversation")
async def test_a_deleted_conversation_is_closed_for_everybody(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web, web_of(user) as other:
        session = await web.create()
        await other.ask("resume_conversation", "session_ready", conversationId=session)
        closed = await web.ask("delete_conversation", "conversation_closed", conversationId=session)
        assert closed["conversationId"] == session
        await other.expect("conversation_closed")
        assert (await vm.expect("stop_session"))["data"]["reason"] == "user_closed"
        refused = await web.ask(
            "send_message", "error", conversationId=session, text="still there?"
        )
        assert refused["code"] == "SESSION_CLOSED"
        history = await web.ask("resume_conversation", "session_ready", conversationId=session)
        assert history["history"] == []


async def test_a_request_is_answered_with_what_it_was_sent_with(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        pinned = await web.ask(
            "create_conversation",
            "conversation_pinned",
            provider="x",
            requestId="r-1",
            conversationId="mine",
        )
        assert (pinned["requestId"], pinned["clientConversationId"]) == ("r-1", "mine")
        ready = await web.expect("session_ready")
        assert ready["requestId"] == "r-1"
        assert ready["conversationId"] == pinned["conversationId"]
        refused = await web.ask("send_message", "error", conversationId="mine", requestId={"a": 1})
        assert refused["requestId"] == {"a": 1}
        assert refused["request"] == "send_message"


async def test_a_large_event_passes_to_a_client_that_reads(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        text = "x" * 3_000_000
        await vm.text(session, text)
        await web.until(lambda _new: len(web.text_of(session)) == len(text))


@pytest.mark.proves("002-9-output-by-conversation")
async def test_a_client_hears_only_the_conversations_that_it_follows(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web, web_of(user) as other:
        mine, theirs = await web.create(), await other.create()
        await vm.expect("start_session", started(theirs))
        await vm.text(theirs, "not for web")
        await vm.text(mine, "for web")
        await web.until(lambda _new: web.text_of(mine) == "for web")
        assert web.text_of(theirs) == ""


@pytest.mark.proves("002-12-readable-on-the-wire")
async def test_text_is_sent_as_it_is_and_not_escaped(user: TestUser, vm: ScriptedVm) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await vm.expect("start_session")
        await vm.text(session, "你好 é")
        await web.until(lambda _new: bool(web.text_of(session)))
        assert any("你好 é" in text for text in web.texts)
        assert all(isinstance(json.loads(text)["type"], str) for text in web.texts)
