"""What passes between a Yeaft web client and an agent beside the output: all fields, both ways; and
what waits while the agent is away (002, "Server 的角色")."""

from typing import Any

import pytest

from tests.support.control import TestUser
from tests.support.vm import ScriptedVm
from tests.support.yeaft_agent import DEPLOYED, DOCUMENTED, ScriptedAgent, new_agent
from tests.support.yeaft_web import ScriptedWeb, heard, is_result, web_of
from trunkline import limits

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILE = {"name": "a.png", "mime": "image/png", "base64": "AAAA", "size": 3, "isImage": True}


@pytest.mark.proves("002-1-server-does-not-parse")
@pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])
async def test_a_message_reaches_an_agent_with_all_that_its_sender_said(
    user: TestUser, dialect: str
) -> None:
    own: dict[str, Any] = {
        "clientMessageId": "cm-1",
        "requestId": "r-1",
        "mentions": ["alice"],
        "workDir": "/other",
        "targetRole": None,
    }
    async with await new_agent(user, dialect) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id, workDir="/chosen")
        await web.send("send_message", conversationId=session, text="hello", **own)
        told = await agent.prompt("hello")
        assert {name: told[name] for name in own} == own
        await agent.result(session)
        await web.send("send_message", conversationId=session, text="", attachments=[FILE])
        told = await agent.prompt("")
        (file,) = told["attachments" if dialect == DOCUMENTED else "files"]
        assert (file["name"], file["size"], file["isImage"]) == ("a.png", 3, True)


async def test_a_machine_of_another_kind_gets_words_with_every_file(
    user: TestUser, vm: ScriptedVm
) -> None:
    async with web_of(user) as web:
        session = await web.create()
        await web.send("send_message", conversationId=session, text="", attachments=[FILE])
        told = await vm.expect("user_message", heard("Attached: a.png"))
        plain = {name: FILE[name] for name in ("name", "mime", "base64")}
        assert told["data"]["metadata"]["attachments"] == [plain]


async def test_what_is_said_of_attachments_is_bounded(user: TestUser) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        large = {**FILE, "more": "x" * limits.YEAFT_FIELDS_BYTES_MAX}
        for attachments in ([large], [{**FILE, "x" * limits.YEAFT_FIELDS_BYTES_MAX: 1}]):
            refused = await web.ask(
                "send_message",
                "error",
                conversationId=session,
                text="x",
                attachments=attachments,
            )
            assert refused["code"] == "TOO_LARGE"


async def test_an_agent_that_repeats_the_prompt_does_not_show_it_twice(user: TestUser) -> None:
    async with await new_agent(user, DEPLOYED) as agent, web_of(user) as web, web_of(user) as other:
        session = await web.create(agentId=agent.id)
        await other.ask("resume_conversation", "session_ready", conversationId=session)
        await web.send("chat", conversationId=session, prompt="hello")
        await agent.prompt("hello")
        await agent.output(session, type="user", message={"role": "user", "content": "hello"})
        await agent.text(session, "hi")
        await agent.result(session)
        for client in (web, other):
            await client.until(lambda new: any(is_result(one) for one in new))
        assert _said_by_people(web, session) == 0
        assert _said_by_people(other, session) == 1
        synced = await other.ask("sync_messages", "sync_messages_result", conversationId=session)
        assert [one["content"] for one in synced["messages"]] == ["hello", "hi"]


def _said_by_people(web: ScriptedWeb, session: str) -> int:
    return sum(data["type"] == "user" for data in web.outputs(session))


@pytest.mark.parametrize("mark", [{"requestId": "r-1"}, {"_requestClientId": "c-1"}])
async def test_an_answer_to_one_clients_request_is_passed_on_and_not_kept(
    user: TestUser, mark: dict[str, str]
) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        answer = {"type": "file_content", "conversationId": session, "content": "x", **mark}
        await agent.send(answer)
        assert await web.expect("file_content") == answer
        await agent.send({"type": "odd_thing", "conversationId": session, "x": {"requestId": 1}})
        await web.expect("odd_thing")
        logged = await user.ok("GET", f"/sessions/{session}/events?limit=100")
        names = [one["event"].get("name") for one in logged["items"]]
        assert [name for name in names if name] == ["odd_thing"]


async def _away(user: TestUser, agent: ScriptedAgent, web: ScriptedWeb) -> str:
    session = await web.create(agentId=agent.id)
    await agent.drop()
    await web.expect("agent_status", lambda one: one["state"] == "offline")
    return session


async def test_what_is_passed_on_leaves_room_for_what_people_say(user: TestUser) -> None:
    most = limits.HELD_FORWARDS_MAX
    agent = await (await new_agent(user)).connect()
    await agent.register()
    async with web_of(user) as web:
        session = await _away(user, agent, web)
        for number in range(most):
            await web.send("odd_thing", conversationId=session, number=number)
        refused = await web.ask("odd_thing", "error", conversationId=session, number=most)
        assert refused["code"] == "MACHINE_BUSY"
        await web.send("send_message", conversationId=session, text="hello")
        async with agent.again() as back:
            await back.prompt("hello")
            assert [one["number"] for one in back.of_type("odd_thing")] == list(range(most))
