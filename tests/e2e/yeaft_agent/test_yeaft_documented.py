"""Short sessions on the Yeaft wire: whatever passes, either way, fits /asyncapi.json."""

import json
from typing import Any

import aiohttp
import jsonschema_rs
import pytest

from tests.support.control import TestUser
from tests.support.peer import Json
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import DEPLOYED, DOCUMENTED, ScriptedAgent, new_agent
from tests.support.yeaft_web import ScriptedWeb, web_url

pytestmark = pytest.mark.asyncio(loop_scope="module")


class _Web(ScriptedWeb):
    """Keeps what it says, too."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.sent: list[Json] = []

    async def send_text(self, text: str) -> None:
        self.sent.append(json.loads(text))
        await super().send_text(text)


class _Agent(ScriptedAgent):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.sent: list[Json] = []

    async def send_text(self, text: str) -> None:
        self.sent.append(json.loads(text))
        await super().send_text(text)


async def document_of(user: TestUser) -> Json:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{user.control.url}/asyncapi.json") as answer,
    ):
        found: Json = await answer.json()
        return found


def check(document: Json, side: str, messages: list[Json]) -> set[str]:
    """Every message has its schema among those of that side, and fits it."""
    for message in messages:
        key = f"yeaft.{side}.{message['type']}"
        schema = document["components"]["messages"][key]["payload"]
        jsonschema_rs.validate({**schema, "components": document["components"]}, message)
    return {message["type"] for message in messages}


async def test_a_session_on_a_machine_of_another_kind_is_as_documented(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with _Web(web_url(user)) as web:
        await web.ask("client_hello", "client_hello_ack", plaintextOk=True, positions=True)
        await web.ask("list_agents", "agents_list", requestId=7)
        session = await web.create(title="t", options={"model": "m"}, requestId="r")
        await web.send("send_message", conversationId=session, text="go", clientMessageId="c")
        await vm.expect("user_message")
        await vm.text(session, "so")
        await vm.event(
            session, type="approval_request", request_id="q1", kind="approve", message="May I?"
        )
        asked = await web.expect("ask_user_question")
        await web.send("ask_user_answer", requestId=asked["requestId"], answer="yes")
        await web.expect("ask_user_answered")
        await vm.event(session, type="session_status", problems=["boom"])
        await vm.event(session, type="execution_complete", content="done")
        await web.result()
        await web.ask("resume_conversation", "session_ready", conversationId=session)
        await web.ask("list_conversations", "conversation_list")
        await web.ask("send_message", "error", conversationId="nobody's", text="x")
        await web.ask("ping", "pong")
        await web.send("delete_conversation", conversationId=session)
        await web.expect("conversation_closed")
        document = await document_of(user)
        check(document, "client", web.sent)
        told = check(document, "server", web.received)
    assert {"auth_result", "agents_list", "client_hello_ack", "ask_user_answered"} <= told
    assert {"conversation_pinned", "event_position", "error", "claude_output"} <= told


async def test_a_session_of_a_deployed_client_is_as_documented(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with _Web(web_url(user)) as web:
        agents = (await web.ask("get_agents", "agent_list"))["agents"]
        await web.ask("select_agent", "agent_selected", agentId=agents[0]["id"])
        created = await web.ask("create_conversation", "conversation_created", workDir="/w")
        session = created["conversationId"]
        await web.send("chat", conversationId=session, prompt="go")
        await vm.expect("user_message")
        await vm.event(session, type="execution_complete", content="done")
        await web.expect("turn_completed")
        for question, answer in (
            ("select_conversation", "conversation_selected"),
            ("sync_messages", "sync_messages_result"),
            ("refresh_conversation", "conversation_refresh"),
            ("ping_session", "pong_session"),
            ("resume_conversation", "conversation_resumed"),
        ):
            assert (await web.ask(question, answer, conversationId=session))["type"] == answer
        await web.ask("get_conversations", "conversation_list")
        await web.ask("list_history_sessions", "history_sessions_list")
        await web.ask("list_folders", "folders_list")
        await web.send("delete_conversation", conversationId=session)
        await web.expect("conversation_deleted")
        document = await document_of(user)
        check(document, "client", web.sent)
        told = check(document, "server", web.received)
    assert {"conversation_list", "history_sessions_list", "folders_list"} <= told
    assert "error" not in told


@pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])
async def test_a_session_of_an_agent_is_as_documented(user: TestUser, dialect: str) -> None:
    issued = await new_agent(user)
    agent = _Agent(user.control.url, issued.id, issued.secret, dialect)
    async with agent, _Web(web_url(user)) as web:
        session = await web.create(agentId=agent.id, workDir="/w", disallowedTools=["x"])
        await web.send("send_message", conversationId=session, text="go")
        await agent.prompt("go")
        await agent.text(session, "so")
        await agent.output(session, type="system", subtype="error", message="boom")
        await agent.ask(session, "q1", "Which?", choices=["a", "b"])
        asked = await web.expect("ask_user_question")
        await web.send("ask_user_answer", requestId=asked["requestId"], answer="a")
        await agent.expect("ask_user_answer")
        await agent.result(session)
        await web.result()
        await agent.send({"type": "agents_list", "agents": []})  # not an agent's to say
        await agent.expect("error")
        await agent.send({"type": "llm_config", "models": []})
        await web.expect("llm_config")
        await web.send("delete_conversation", conversationId=session)
        await agent.expect("delete_conversation")
        document = await document_of(user)
        check(document, "client", web.sent)
        check(document, "server", web.received)
        heard = check(document, "command", agent.received)
        own = [one for one in agent.sent if one["type"] != "agents_list"]
        check(document, "agent", own)
    assert {"auth_required", "registered", "create_conversation"} <= heard
