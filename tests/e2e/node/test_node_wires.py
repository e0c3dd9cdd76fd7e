"""`trunkline node --wire …` as a process, on somebody else's server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.eventually import eventually
from tests.support.foreign_servers import AgpServer, YeaftServer
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.support.wire_node import AGP, BOUND_S, YEAFT, Place, WireNode, place

pytestmark = pytest.mark.asyncio(loop_scope="module")
WRITE = ToolUse(name="bash", arguments={"command": "echo done > proof.txt"})
LOOK = ToolUse(name="list_files", arguments={"path": "."})
ASK = ToolUse(name="ask_user", arguments={"question": "Which colour?"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agp(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place[AgpServer]]:
    async with place(AgpServer(), tmp_path_factory.mktemp("agp"), *AGP) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def yeaft(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place[YeaftServer]]:
    async with place(YeaftServer(), tmp_path_factory.mktemp("yeaft"), *YEAFT) as made:
        yield made


async def test_a_prompt_streams_its_text_uses_a_tool_and_ends_once(agp: Place[AgpServer]) -> None:
    server, model = agp.server, agp.model
    (agp.node.home / "workspace" / "seen.txt").touch()
    model.script(Turn(text="I look.", tool_calls=[LOOK]), Turn(text="There it is."))
    prompt_id = await server.prompt("s-1", "Look for it.")
    answer = await server.answer(prompt_id)
    assert (answer["stop_reason"], answer["session_id"]) == ("end_turn", "s-1")
    assert answer["content"] == [{"type": "text", "text": "There it is."}]
    assert server.text(prompt_id) == "I look.There it is."
    [call] = [one["tool_call"] for one in server.updates(prompt_id, "tool_call")]
    assert (call["title"], call["status"]) == ("list_files", "in_progress")
    ended = server.updates(prompt_id, "tool_call_update")[-1]["tool_call"]
    assert (ended["tool_call_id"], ended["status"]) == (call["tool_call_id"], "completed")
    assert "seen.txt" in ended["content"][0]["text"]
    assert {one["guid"] for one in server.of(prompt_id)} == {"device_001"}
    assert server.queries[0] == {"guid": "device_001", "user_id": "user_123", "token": "right"}
    assert model.requests[-1].headers["authorization"] == "Bearer key-of-openai"


async def test_a_cancel_ends_the_prompt_that_it_names_and_no_other(agp: Place[AgpServer]) -> None:
    server, gate = agp.server, Gate()
    agp.model.script(Turn(chunks=["Half", gate, " and half."]), Turn(text="The third."))
    first = await server.prompt("s-3", "One.")
    await gate.reached.wait(BOUND_S)
    second = await server.prompt("s-3", "Two.")
    third = await server.prompt("s-3", "Three.")
    await server.cancel("s-3", second)
    assert (await server.answer(second))["stop_reason"] == "cancelled"
    assert server.answers(first) == []
    await server.cancel("s-3", first)
    assert (await server.answer(first))["stop_reason"] == "cancelled"
    assert (await server.answer(third))["content"][0]["text"] == "The third."
    gate.open()


async def test_a_line_that_breaks_in_the_middle_of_a_turn_loses_nothing(
    agp: Place[AgpServer],
) -> None:
    server, model, gates = agp.server, agp.model, [Gate(), Gate()]
    model.script(Turn(chunks=["One ", gates[0], "two ", gates[1], "three."]))
    prompt_id = await server.prompt("s-4", "Count.")
    await server.until(lambda: "One" in server.text(prompt_id), "the first word")
    server.cut()
    gates[0].open()
    await gates[1].reached.wait(BOUND_S)
    gates[1].open()
    await server.connected()
    answer = await server.answer(prompt_id)
    assert answer["content"][0]["text"] == "One two three."
    assert server.text(prompt_id) == "One two three."
    asked = len(model.requests)
    await server.prompt("s-4", "Again, by mistake.", prompt_id)
    model.script(Turn(text="Next."))
    await server.answer(await server.prompt("s-4", "And now?"))
    assert len(server.answers(prompt_id)) == 1
    assert [one.prompt for one in model.requests[asked:]] == ["And now?"]


async def test_an_answer_that_could_not_be_sent_comes_after_a_restart(tmp_path: Path) -> None:
    gate, first = Gate(), AgpServer()
    async with ModelServer() as model:
        model.script(Turn(chunks=["Kept", gate, " for you."]))
        node = WireNode(tmp_path / "home", model)
        async with first:
            await node.start(*AGP, "--server", first.url)
            await first.connected()
            prompt_id = await first.prompt("s-1", "Keep it.")
            await gate.reached.wait(BOUND_S)
        gate.open()  # the server is gone

        async def is_kept() -> bool:
            return node.owes(b"promptResponse")

        await eventually(is_kept)
        await node.kill()
        second = AgpServer()
        async with second:
            await node.start(*AGP, "--server", second.url)
            answer = await second.answer(prompt_id)
            assert answer["stop_reason"] == "end_turn"
            assert answer["content"][0]["text"] == "Kept for you."
        await node.stop()


@pytest.mark.parametrize("wire", ["agp", "yeaft"])
async def test_a_wrong_token_ends_the_command_with_a_clear_message(
    wire: str, tmp_path: Path
) -> None:
    server, flags = (AgpServer(), AGP) if wire == "agp" else (YeaftServer(), YEAFT)
    why = "HTTP 401" if wire == "agp" else "1008"
    async with asyncio.timeout(BOUND_S), ModelServer() as model, server:
        node = WireNode(tmp_path / "home", model)
        await node.start(*flags, "--server", server.url, token="wrong-token")
        assert await node.process.wait() == 1
        assert f"error: the server refuses this machine ({why}" in node.log
        assert "wrong-token" not in node.log


async def test_a_conversation_is_made_talked_to_and_asks_before_a_dangerous_tool(
    yeaft: Place[YeaftServer],
) -> None:
    server, proof = yeaft.server, yeaft.node.proof
    yeaft.model.script(Turn(text="I look.", tool_calls=[WRITE]), Turn(text="It is written."))
    await server.say("create_conversation", conversationId="c-1", options={}, workDir="x")
    ready = await server.first("session_ready", "c-1")
    assert (ready["sessionId"], ready["modelInfo"]) == ("c-1", {"model": "gpt-scripted"})
    await server.say("send_message", conversationId="c-1", text="Write it.")
    asked = await server.first("ask_user_question", "c-1")
    assert asked["choices"] == ["yes", "no"]
    assert WRITE.arguments["command"] in asked["prompt"], "nobody says yes unseen"
    assert not proof.exists()
    await server.say("ask_user_answer", requestId=asked["requestId"], answer="yes")
    result = await server.result("c-1")
    assert (result["subtype"], result["is_error"]) == ("success", False)
    assert proof.read_text() == "done\n"
    assert server.text("c-1") == "I look.It is written."
    [use] = server.blocks("c-1", "tool_use")
    [used] = server.blocks("c-1", "tool_result")
    assert (use["name"], used["tool_use_id"]) == ("bash", use["id"])
    query = server.queries[0]
    assert (query["type"], query["id"], query["name"]) == ("agent", "desk-1", "Desk")


async def test_the_deployed_dialect_is_answered_in_its_own_words(
    yeaft: Place[YeaftServer],
) -> None:
    server, model, gate = yeaft.server, yeaft.model, Gate()
    model.script(Turn(tool_calls=[ASK]), Turn(text="Blue."), Turn(chunks=["Slow", gate]))
    await server.say("create_conversation", conversationId="c-2", userId="u-1", provider="p")
    created = await server.first("conversation_created", "c-2")
    assert created["workDir"] == str(yeaft.node.home / "workspace")
    await server.say("execute", conversationId="c-2", prompt="Paint it.")
    asked = await server.first("ask_user_question", "c-2")
    [question] = asked["questions"]
    answers = {question["question"]: "blue"}
    await server.say("ask_user_answer", requestId=asked["requestId"], answers=answers)
    await server.first("turn_completed", "c-2")
    assert "blue" in model.requests[-1].tool_results[0]
    await server.say("execute", conversationId="c-2", prompt="Slowly.")
    await gate.reached.wait(BOUND_S)
    await server.say("cancel_execution", conversationId="c-2")
    await server.first("execution_cancelled", "c-2")
    assert len(server.of("turn_completed", "c-2")) == 1
    gate.open()


async def test_what_is_said_while_the_line_is_down_follows_in_order_and_ends_once(
    yeaft: Place[YeaftServer],
) -> None:
    server, gates = yeaft.server, [Gate(), Gate()]
    yeaft.model.script(Turn(chunks=["One ", gates[0], "two ", gates[1], "three."]))
    await server.say("send_message", conversationId="c-3", text="Count.")
    await server.until(lambda: "One" in server.text("c-3"), "the first word")
    await yeaft.node.has_delivered()
    await server.close(1001, "restarting")
    gates[0].open()
    await gates[1].reached.wait(BOUND_S)
    gates[1].open()
    await server.result("c-3")
    await server.first("agent_sync_complete", count=2)
    assert server.text("c-3") == "One two three."
    assert len(server.data("c-3", "result")) == 1
    order = [one["type"] for one in server.received]
    synced = [number for number, kind in enumerate(order) if kind == "agent_sync_complete"]
    assert "claude_output" in order[synced[0] : synced[1]]


async def test_a_session_goes_on_under_another_name_after_a_restart_and_can_be_deleted(
    yeaft: Place[YeaftServer],
) -> None:
    server, model, node = yeaft.server, yeaft.model, yeaft.node
    model.script(Turn(text="Noted."), Turn(text="It was seven."))
    await server.say("send_message", conversationId="c-5", text="Keep 7.")
    await server.result("c-5")
    await node.stop()
    synced = len(server.of("agent_sync_complete"))
    await node.start(*YEAFT, "--server", server.url)
    await server.first("agent_sync_complete", count=synced + 1)
    await server.say("list_history_sessions", provider="p", requestId="r-1")
    listed = await server.first("history_sessions_list")
    assert (listed["requestId"], listed["sessions"][0]["title"]) == ("r-1", "Keep 7.")
    assert listed["sessions"][0]["sessionId"] == "c-5"
    await server.say("list_folders", provider="p")
    [folder] = (await server.first("folders_list"))["folders"]
    assert folder["path"] == str(node.home / "workspace")
    await server.say("resume_conversation", conversationId="c-9", sessionId="c-5")
    assert (await server.first("session_ready", "c-9"))["sessionId"] == "c-5"
    await server.say("send_message", conversationId="c-9", text="Which?")
    await server.result("c-9")
    said = [text for role, text in model.requests[-1].said if role == "user"]
    assert said == ["Keep 7.", "Which?"]
    await server.say("delete_conversation", conversationId="c-9")
    await server.first("conversation_deleted", "c-9")

    async def is_gone() -> bool:
        return not (node.home / ".semibot" / "sessions" / "c-5").exists()

    await eventually(is_gone)
