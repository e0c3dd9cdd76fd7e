"""An agent that sends its provider's own events as `data`: web clients get the document's form, and
every other reader the events of any session."""

import json

import pytest

from tests.support.control import TestUser
from tests.support.peer import Json
from tests.support.yeaft_agent import new_agent
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALL = {"command": "ls"}


@pytest.mark.proves("002-5.3-engine-events")
async def test_the_engines_events_are_a_turn_like_any_other(user: TestUser) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        await web.send("send_message", conversationId=session, text="go")
        await agent.prompt("go")
        for event in (
            {"type": "thinking_delta", "text": "Hm."},
            {"type": "text_delta", "text": "Look"},
            {"type": "text_delta", "text": "ing."},
            {"type": "tool_call", "id": "t1", "name": "bash", "input": CALL},
            {"type": "usage", "inputTokens": 10, "outputTokens": 5},
            {"type": "stop", "stopReason": "tool_use"},
            {"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"},
            {"type": "text_delta", "text": "Done."},
            {"type": "usage", "inputTokens": 20, "outputTokens": 1},
            {"type": "stop", "stopReason": "end_turn"},
        ):
            output = {"type": "yeaft_output", "conversationId": session, "data": event}
            await agent.send(output)
        ended = await web.expect("yeaft_output", lambda one: one["data"]["type"] == "result")
        assert ended["data"]["subtype"] == "success"
        assert ended["data"]["usage"] == {"input_tokens": 30, "output_tokens": 6}
        assert web.text_of(session) == "Looking.Done."
        assert {one["type"] for one in web.received if "data" in one} == {"yeaft_output"}
        assert kinds_of(await events(user, session)) == [
            *("user_message", "thinking", "text_chunk", "text_chunk", "tool_call_start"),
            *("tool_call_complete", "text_chunk", "usage", "execution_complete"),
        ]


@pytest.mark.proves("002-5.2-acp-events", "002-5.2-permission-is-a-question")
async def test_an_acp_agents_events_are_a_turn_like_any_other(user: TestUser) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        await web.send("send_message", conversationId=session, text="go")
        await agent.prompt("go")
        await agent.output(session, **update("agent_message_chunk", content=text("Looking.")))
        call = {"toolCallId": "t1", "title": "ls", "rawInput": CALL}
        await agent.output(session, **update("tool_call", **call, status="pending"))
        options = [{"optionId": "o1", "name": "Allow once"}, {"optionId": "o2", "name": "Reject"}]
        params = {"sessionId": "s", "toolCall": call, "options": options}
        await agent.output(session, method="session/request_permission", id=7, params=params)
        asked = await web.expect("ask_user_question")
        assert (asked["requestId"], asked["choices"]) == ("7", ["Allow once", "Reject"])
        await web.send("ask_user_answer", requestId="7", answer="Allow once")
        answer = await agent.expect("ask_user_answer")
        assert (answer["requestId"], answer["answer"]) == ("7", "Allow once")
        done = {"toolCallId": "t1", "status": "completed", "rawOutput": "a.txt"}
        await agent.output(session, **update("tool_call_update", **done))
        await agent.output(session, method="session/agent_text", params={"text": "Done."})
        commands = [{"name": "review", "description": "Look"}]
        await agent.output(
            session, **update("available_commands_update", availableCommands=commands)
        )
        await agent.output(session, method="session/turn_complete", params={})
        assert (await web.result())["subtype"] == "success"
        assert web.text_of(session) == "Looking.Done."
        told = await web.expect("slash_commands_update")
        assert told["slashCommands"] == ["review"]
        found = await events(user, session)
        (complete,) = [one for one in found if one["type"] == "tool_call_complete"]
        assert (complete["tool_name"], complete["result"]) == ("ls", "a.txt")
        assert kinds_of(found)[-1] == "execution_complete"


def update(kind: str, /, **fields: object) -> Json:
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **fields}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def text(said: str) -> Json:
    return {"type": "text", "text": said}


async def events(user: TestUser, session: str) -> list[Json]:
    page = await user.ok("GET", f"/sessions/{session}/events?after=0&limit=100")
    found = [one["event"] for one in page["items"]]
    return [json.loads(one) if isinstance(one, str) else one for one in found]


def kinds_of(found: list[Json]) -> list[str]:
    return [one["type"] for one in found if one["type"] != "session_status"]
