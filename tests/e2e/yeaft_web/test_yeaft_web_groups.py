"""Talking to a group from a Yeaft web client (002, "yeaft_session_chat")."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.control import TestUser
from tests.support.group import ScriptedGroup
from tests.support.yeaft_agent import new_agent
from tests.support.yeaft_web import ScriptedWeb, is_result, web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def group(user: TestUser) -> AsyncIterator[ScriptedGroup]:
    made = await ScriptedGroup.make(user, "alice", "bob")
    yield made
    await made.leave()


def _said(web: ScriptedWeb, person: str) -> str:
    return "".join(
        block["text"]
        for one in web.of_type("yeaft_output")
        if one["vpName"] == person and one["data"]["type"] == "assistant"
        for block in one["data"]["message"]["content"]
    )


@pytest.mark.proves(
    "002-4.1-yeaft-session-chat", "002-6-output-by-person", "002-6-parallel", "002-6-no-mention-all"
)
@pytest.mark.parametrize("name", ["yeaft_session_chat", "unify_group_chat", "yeaft_session_send"])
@pytest.mark.proves("notes-3-session-send", "002-6-old-name")
async def test_everybody_answers_under_their_own_name(
    user: TestUser, group: ScriptedGroup, name: str
) -> None:
    async with web_of(user) as web:
        await web.send(name, groupId=group.id, text="hello all")
        first = await group["alice"].asked()
        second = await group["bob"].asked()
        await group["bob"].answer(second, "Bob here")
        await group["alice"].answer(first, "Alice here")
        await web.result()
        assert (_said(web, "alice"), _said(web, "bob")) == ("Alice here", "Bob here")
        outputs = web.of_type("yeaft_output")
        assert {one["groupId"] for one in outputs} == {group.id}
        assert {one["conversationId"] for one in outputs} == {group.session}
        assert {one["vpId"] for one in outputs} == {one.id for one in group.persons.values()}
        assert sum(is_result(one) for one in web.of_type("claude_output")) == 1


@pytest.mark.proves("002-6-mentions-choose", "002-6-attachments")
async def test_a_mention_chooses_and_attachments_travel(
    user: TestUser, group: ScriptedGroup
) -> None:
    async with web_of(user) as web:
        file = {"name": "a.txt", "mime": "text/plain", "base64": "aGk="}
        await web.send(
            "yeaft_session_chat",
            conversationId=group.session,
            groupId=group.id,
            text="@bob look",
            mentions=["bob"],
            attachments=[file],
        )
        asked = await group["bob"].asked()
        assert asked["data"]["metadata"]["attachments"] == [file]
        await group["bob"].answer(asked, "I see it")
        await web.result()
        assert (_said(web, "alice"), _said(web, "bob")) == ("", "I see it")


async def test_a_conversation_in_a_group_is_created_like_any_other(
    user: TestUser, group: ScriptedGroup
) -> None:
    async with web_of(user) as web:
        agents = (await web.ask("list_agents", "agents_list"))["agents"]
        (listed,) = [one for one in agents if one["kind"] == "group"]
        assert (listed["id"], listed["online"]) == (group.id, True)
        session = await web.create(agentId=group.id)
        await web.send("yeaft_session_chat", groupId=group.id, text="newest wins")
        await group["alice"].answers("A")
        await group["bob"].answers("B")
        await web.result()
        assert {one["conversationId"] for one in web.of_type("yeaft_output")} == {session}


async def test_the_sender_of_a_group_message_does_not_hear_it_again(
    user: TestUser, group: ScriptedGroup
) -> None:
    async with web_of(user) as web:
        await web.send("yeaft_session_send", sessionId=group.id, id="cm_9", text="psst")
        await group["alice"].answers("A")
        await group["bob"].answers("B")
        await web.result()
        assert "psst" not in str(web.of_type("claude_output")[:-1])


async def test_a_group_that_an_agent_runs_itself_is_that_agents_business(user: TestUser) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        text = f'{{"type":"unify_group_chat","agentId":"{agent.id}","groupId":"g-1","text":"hi"}}'
        await web.send_text(text)
        await agent.expect("unify_group_chat")
        assert text in agent.texts
        async with await new_agent(user):
            missing = await web.ask("yeaft_session_chat", "error", groupId="g-1", text="hi")
            assert missing["code"] == "GROUP_NOT_FOUND", "which of the two agents has it?"


@pytest.mark.proves("002-4.1-yeaft-session-chat")
async def test_the_documents_own_example_reaches_the_only_agent_there_is(user: TestUser) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        texts = [
            '{"type":"yeaft_session_chat","conversationId":"yeaft-virtual-xxx","groupId":"group-abc",'
            '"text":"@alice 帮我看下 bug","mentions":["alice"],"attachments":[]}',
            '{"type":"crew_input","sessionId":"crew_1","text":"x"}',
            '{"type":"get_llm_config"}',
        ]
        for text in texts:
            await web.send_text(text)
        await agent.expect("get_llm_config")
        assert [one for one in agent.texts if one in texts] == texts
        assert web.of_type("error") == []


async def test_what_names_nobody_is_for_the_agent_of_the_selected_conversation(
    user: TestUser,
) -> None:
    async with await new_agent(user) as agent, await new_agent(user), web_of(user) as web:
        refused = await web.ask("get_llm_config", "error")
        assert refused["code"] == "UNKNOWN_TYPE"
        await web.create(agentId=agent.id)
        await web.send("get_llm_config")
        await agent.expect("get_llm_config")


async def test_what_is_said_to_an_agents_own_group_is_seen_by_whoever_reads_along(
    user: TestUser,
) -> None:
    async with await new_agent(user) as agent, web_of(user) as web, web_of(user) as other:
        session = await web.create(agentId=agent.id)
        await other.ask("resume_conversation", "session_ready", conversationId=session)
        file = {"name": "a.txt", "mime": "text/plain", "base64": "aGk="}
        await web.send(
            "yeaft_session_chat",
            conversationId=session,
            groupId="g-1",
            text="who is there?",
            attachments=[file],
        )
        await agent.expect("yeaft_session_chat")
        heard = await other.expect("claude_output", lambda one: one["data"]["type"] == "user")
        message = heard["data"]["message"]
        assert message["content"] == [{"type": "text", "text": "who is there?"}]
        assert message["attachments"] == [{"name": "a.txt", "mime": "text/plain"}]
        said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "me"}]}}
        await agent.send(
            {"type": "yeaft_output", "conversationId": session, "vpId": "al", "data": said}
        )
        await web.expect("yeaft_output")
        assert web.of_type("claude_output") == [], "its sender knows what it said"
        # It opened no turn that nobody would end.
        await web.send("send_message", conversationId=session, text="next")
        await agent.prompt("next")


async def test_persons_parts_in_a_group_are_not_listed_beside_it(
    user: TestUser, group: ScriptedGroup
) -> None:
    async with web_of(user) as web:
        await web.send("yeaft_session_chat", groupId=group.id, text="hello all")
        await group["alice"].answers("A")
        await group["bob"].answers("B")
        await web.result()
        listed = await web.ask("list_conversations", "conversation_list")
        assert [one["id"] for one in listed["conversations"]] == [group.session]
        history = await web.ask("list_history_sessions", "history_sessions_list")
        assert [one["sessionId"] for one in history["sessions"]] == [group.session]
