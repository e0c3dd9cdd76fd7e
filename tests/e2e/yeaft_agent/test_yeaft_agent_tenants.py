"""A Yeaft agent speaks of its own conversations and of nobody else's; what it tries is audited."""

from typing import Any

import pytest

from tests.support.control import Control, TestUser
from tests.support.eventually import eventually
from tests.support.orgs import admin_of_new_org
from tests.support.yeaft_agent import DEPLOYED, new_agent
from trunkline.control.ids import new_id

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def refusals(user: TestUser) -> list[Any]:
    items = (await user.ok("GET", "/audit?limit=200"))["items"]
    return [one for one in items if one["event"] == "access.refused"]


MESSAGES: dict[str, dict[str, Any]] = {
    "output": {
        "type": "claude_output",
        "data": {"type": "assistant", "message": {"content": [{"type": "text", "text": "evil"}]}},
    },
    "ready": {"type": "session_ready", "sessionId": "evil"},
    "question": {"type": "ask_user_question", "requestId": "evil", "prompt": "evil"},
    "end": {"type": "turn_completed"},
    "unknown": {"type": "something_new", "text": "evil"},
}


@pytest.mark.proves("002-9-owner-only")
@pytest.mark.parametrize("name", MESSAGES)
async def test_a_conversation_of_another_user_is_refused_and_audited(
    control: Control, user: TestUser, name: str
) -> None:
    stranger = await admin_of_new_org(control)
    async with await new_agent(stranger) as theirs, await new_agent(user) as mine:
        session = await stranger.session(machine_id=theirs.id)
        await stranger.say(session, "go")
        await theirs.prompt("go")
        await mine.send({"conversationId": session, **MESSAGES[name]})
        error = await mine.expect("error")
        assert (error["code"], error["conversationId"]) == ("SESSION_NOT_FOUND", session)
        noted = await eventually(lambda: refusals(user))
        assert noted[0]["details"] == {"wire": "yeaft", "kind": "session", "id": session}
        await theirs.text(session, "honest")
        async with stranger.reader(session) as reader:
            await reader.until_text("honest")
            assert "evil" not in str(reader.events)


async def test_a_crew_session_of_another_user_is_refused(control: Control, user: TestUser) -> None:
    stranger = await admin_of_new_org(control)
    async with await new_agent(stranger) as theirs, await new_agent(user) as mine:
        session = await stranger.session(machine_id=theirs.id)
        await mine.send({"type": "crew_output", "sessionId": session, "role": "r", "data": {}})
        assert (await mine.expect("error"))["conversationId"] == session


async def test_a_session_of_the_same_user_on_another_machine_is_refused_without_an_alarm(
    user: TestUser,
) -> None:
    async with await new_agent(user) as one, await new_agent(user) as other:
        session = await user.session(machine_id=one.id)
        await other.send({"type": "turn_completed", "conversationId": session})
        assert (await other.expect("error"))["code"] == "SESSION_NOT_FOUND"
        await other.send({"type": "claude_output", "conversationId": new_id(), "data": {}})
        await other.expect("error", lambda message: message["conversationId"] != session)
        assert await refusals(user) == []


async def test_a_refusal_is_said_once_for_each_conversation(user: TestUser) -> None:
    async with await new_agent(user) as agent:
        nowhere, last = new_id(), new_id()
        for _ in range(50):
            await agent.send({"type": "claude_output", "conversationId": nowhere, "data": {}})
        await agent.send({"type": "claude_output", "conversationId": last, "data": {}})
        await agent.expect("error", lambda message: message["conversationId"] == last)
        assert len(agent.of_type("error")) == 2


async def test_a_question_under_the_id_of_another_users_question_is_its_own(
    control: Control, user: TestUser
) -> None:
    stranger = await admin_of_new_org(control)
    async with await new_agent(stranger) as theirs, await new_agent(user, DEPLOYED) as mine:
        for owner, agent in ((stranger, theirs), (user, mine)):
            session = await owner.session(machine_id=agent.id)
            await owner.say(session, "go")
            await agent.prompt("go")
            await agent.ask(session, "same-id", "May I?")

        async def answered() -> int:
            body = {"confirmed": True, "answer": "mine"}
            return (await user.call("POST", "/approvals/same-id", body))[0]

        await eventually(answered, lambda status: status == 200)
        assert (await mine.expect("ask_user_answer"))["answer"] == "mine"
        assert len((await stranger.ok("GET", "/approvals"))["items"]) == 1
        assert theirs.of_type("ask_user_answer") == []
