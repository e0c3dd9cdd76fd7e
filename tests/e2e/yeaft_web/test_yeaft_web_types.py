"""What agents say, in the document's own words (002, "Agent → 客户端", "claude_output data"), and
where a client's message goes that names more than one agent."""

import json
from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.yeaft_agent import new_agent
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

OUTSIDE: dict[str, dict[str, Any]] = {
    "crew_output": {"sessionId": "crew-1", "role": "pm", "data": {"type": "status", "n": 1.50}},
    "llm_config": {"providers": [{"name": "anthropic"}], "defaultModel": "m"},
    "mcp_servers_list": {"servers": []},
    "yeaft_settings": {"maxConcurrentThreads": 4},
}
"""What 002 lets an agent say without a conversation."""

DATA: dict[str, dict[str, Any]] = {
    "init": {"type": "system", "subtype": "init", "session_id": "s", "tools": ["bash"]},
    "compact": {"type": "system", "subtype": "compact", "trigger": "auto"},
    "error": {"type": "system", "subtype": "error", "message": "a hook failed"},
    "thinking": {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "s1g"}],
        },
    },
}


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.proves("002-4.2-crew-output", "002-4.2-settings-answers")
async def test_what_an_agent_says_of_no_conversation_reaches_every_client_as_it_came(
    user: TestUser, kind: str
) -> None:
    text = json.dumps({"type": kind, **OUTSIDE[kind]}, separators=(" ,", " :"))
    async with await new_agent(user) as agent, web_of(user) as web, web_of(user) as other:
        await agent.send_text(text)
        for client in (web, other):
            await client.expect(kind)
            assert text in client.texts


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.proves("002-4.3-system", "002-4.3-assistant-blocks")
async def test_every_shape_of_data_passes_as_it_is(user: TestUser, kind: str) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        envelope = {"type": "claude_output", "conversationId": session, "data": DATA[kind]}
        text = json.dumps(envelope, separators=(", ", ": "))
        await agent.send_text(text)
        await web.expect("claude_output")
        assert text in web.texts


@pytest.mark.proves("002-8-session-ready-fields")
async def test_an_agents_session_ready_arrives_with_all_its_fields(user: TestUser) -> None:
    async with await new_agent(user, answers=False) as agent, web_of(user) as web:
        await web.send("create_conversation", agentId=agent.id, provider="copilot", workDir="/w")
        asked = await agent.expect("create_conversation")
        ready = {
            "type": "session_ready",
            "conversationId": asked["conversationId"],
            "sessionId": "native-1",
            "capabilities": ["tools", "images"],
            "modelInfo": {"model": "gpt-x", "contextWindow": 200_000},
        }
        await agent.send(ready)
        assert await web.expect("session_ready") == ready


@pytest.mark.proves("002-9-routed-by-pin", "002-10-pinned-to-its-agent", "002-2-routing-fields")
async def test_the_pin_counts_whatever_agent_a_message_names(user: TestUser) -> None:
    """A page that has another agent selected still talks to the agent of its conversation."""
    async with await new_agent(user) as pinned, await new_agent(user) as other, web_of(user) as web:
        session = await web.create(agentId=pinned.id)
        named: dict[str, Any] = {"conversationId": session, "agentId": other.id}
        await web.ask("select_agent", "agent_selected", agentId=other.id)
        await web.send("send_message", text="to the pin", **named)
        await web.send("something_new", number=1, **named)
        await pinned.prompt("to the pin")
        await pinned.expect("something_new")
        await web.send("cancel_execution", **named)
        await pinned.expect("cancel_execution")
        await web.send("delete_conversation", **named)
        await pinned.expect("delete_conversation")
        await web.send("get_llm_config", agentId=other.id)  # which comes behind all of that
        await other.expect("get_llm_config")
        told = {"send_message", "something_new", "cancel_execution", "delete_conversation"}
        assert not told & {one["type"] for one in other.received}
