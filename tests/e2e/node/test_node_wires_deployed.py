"""`trunkline node --wire yeaft` on a server as it is deployed, with rules of its own."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.deployed_yeaft import DeployedYeaft
from tests.support.model_server import Gate, Turn
from tests.support.wire_node import BOUND_S, YEAFT, Place, place

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place[DeployedYeaft]]:
    folder = tmp_path_factory.mktemp("deployed")
    async with place(DeployedYeaft(), folder, *YEAFT) as made:
        await made.server.until(lambda: made.server.is_ready, "sync")
        yield made


async def opened(server: DeployedYeaft, conversation_id: str) -> None:
    fields = {"conversationId": conversation_id, "workDir": "there"}
    await server.say("create_conversation", **fields, userId="u-1", username="ada")
    await server.first("conversation_created", conversation_id)


async def completed(server: DeployedYeaft, conversation_id: str) -> None:
    await server.until(lambda: server.pages("turn_completed", conversation_id), "turn_completed")


def answer(server: DeployedYeaft, conversation_id: str) -> str:
    return "".join(text for who, text in server.kept.get(conversation_id, []) if who == "assistant")


@pytest.mark.proves("notes-3-node-keeps-the-catalog-whole")
async def test_a_conversation_is_shown_to_its_user_and_kept_as_it_was_said(
    desk: Place[DeployedYeaft],
) -> None:
    server = desk.server
    desk.model.script(Turn(text="Good morning."))
    await opened(server, "c-1")
    created = server.conversations["c-1"]
    assert (created["userId"], created["username"]) == ("u-1", "ada")
    assert server.catalog is not None
    assert server.catalog["c-1"] == "claude-code"
    await server.chat("c-1", "Hello.")
    await completed(server, "c-1")
    assert server.kept["c-1"][0] == ("user", "Hello.")
    assert answer(server, "c-1") == "Good morning."
    assert desk.model.requests[-1].prompt == "Hello."


async def test_a_line_that_breaks_in_a_turn_costs_its_pages_nothing(
    desk: Place[DeployedYeaft],
) -> None:
    server, gates = desk.server, [Gate(), Gate()]
    desk.model.script(Turn(chunks=["One ", gates[0], "two ", gates[1], "three."]))
    await opened(server, "c-2")
    await server.chat("c-2", "Count.")
    await server.until(lambda: "One" in answer(server, "c-2"), "the first word")
    await desk.node.has_delivered()
    await server.close(1001, "restarting")
    gates[0].open()
    await gates[1].reached.wait(BOUND_S)
    gates[1].open()
    await completed(server, "c-2")
    assert answer(server, "c-2") == "One two three."
    assert len(server.pages("turn_completed", "c-2")) == 1
    assert server.conversations["c-2"]["processing"] is False


async def test_the_end_of_a_turn_that_a_death_cut_off_reaches_the_pages(
    desk: Place[DeployedYeaft],
) -> None:
    server, node, gate = desk.server, desk.node, Gate()
    desk.model.script(Turn(chunks=["Half", gate]))
    await opened(server, "c-3")
    await server.chat("c-3", "Work.")
    await server.until(lambda: "Half" in answer(server, "c-3"), "text")
    await node.has_delivered()  # what is under way comes again, a new beginning too
    await node.kill()
    gate.open()
    await node.start(*YEAFT, "--server", server.url)
    await completed(server, "c-3")
    [problem] = [
        one["data"]["message"]
        for one in server.pages("claude_output", "c-3")
        if one["data"].get("subtype") == "error"
    ]
    assert "restarted" in problem


async def test_a_conversation_that_is_taken_up_again_brings_what_was_said(
    desk: Place[DeployedYeaft],
) -> None:
    server = desk.server
    desk.model.script(Turn(text="Noted."))
    await opened(server, "c-4")
    await server.chat("c-4", "Keep 7.")
    await completed(server, "c-4")
    asked = {"conversationId": "c-40", "claudeSessionId": "c-4", "workDir": "there"}
    await server.say("resume_conversation", **asked, userId="u-1", username="ada")
    resumed = await server.first("conversation_resumed", "c-40")
    said = [(one["type"], one["message"]["content"]) for one in resumed["historyMessages"]]
    assert said == [
        ("user", [{"type": "text", "text": "Keep 7."}]),
        ("assistant", [{"type": "text", "text": "Noted."}]),
    ]
    assert (resumed["claudeSessionId"], resumed["userId"]) == ("c-4", "u-1")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("list_history_sessions", "history_sessions_list"),
        ("list_folders", "folders_list"),
        ("list_models", "models_list"),
        ("get_llm_config", "llm_config"),
        ("update_llm_config", "llm_config_updated"),
        ("get_mcp_servers", "mcp_servers_list"),
        ("update_mcp_config", "mcp_config_updated"),
        ("get_yeaft_settings", "yeaft_settings"),
        ("update_yeaft_settings", "yeaft_settings_updated"),
        ("restart_agent", "restart_agent_ack"),
        ("upgrade_agent", "upgrade_agent_ack"),
        ("yeaft_vp_subscribe", "yeaft_output"),
    ],
)
async def test_whoever_asks_for_lists_and_settings_is_answered_and_nobody_else(
    desk: Place[DeployedYeaft], question: str, answer: str
) -> None:
    asked = {"requestId": f"r-{question}", "_requestClientId": "page-7"}
    await desk.server.say(question, **asked, workDir="there")
    told = await desk.server.first(answer)
    assert {name: told[name] for name in asked} == asked


async def test_a_page_can_ask_how_a_conversation_is(desk: Place[DeployedYeaft]) -> None:
    server = desk.server
    await opened(server, "c-5")
    await server.say("ping_session", conversationId="c-5", clientId="page-7")
    pong = await server.first("pong_session", "c-5")
    assert (pong["status"], pong["isProcessing"], pong["clientId"]) == ("ok", False, "page-7")
    await server.say("refresh_conversation", conversationId="c-5")
    assert (await server.first("conversation_refresh", "c-5"))["isProcessing"] is False
    await server.say("refresh_conversation", conversationId="nowhere")
    assert "not found" in (await server.first("conversation_refresh", "nowhere"))["error"]
    count = len(server.of("conversation_list"))
    await server.say("get_conversations")
    listed = await server.first("conversation_list", count=count + 1)
    assert "c-5" in {one["id"] for one in listed["conversations"]}


async def test_a_superseded_machine_says_so_and_ends(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND_S), place(DeployedYeaft(), tmp_path, *YEAFT) as made:
        await made.server.until(lambda: made.server.is_ready, "sync")
        await made.server.close(1008, "Superseded by a newer Agent connection")
        assert await made.node.process.wait() == 1
        assert "(1008): Superseded by a newer Agent connection" in made.node.log
