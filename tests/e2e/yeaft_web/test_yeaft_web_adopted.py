"""A deployed page and a deployed agent: sessions that the agent has of its own, and its returns."""

import pytest

from tests.support.control import TestUser
from tests.support.yeaft_agent import DEPLOYED, new_agent
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWN = "11111111-2222-4333-8444-555555555555"
HISTORY = [
    {"type": "user", "message": {"role": "user", "content": "old question"}},
    {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "old answer"}]},
    },
]


async def test_a_session_of_the_agents_own_comes_with_what_was_said_in_it(user: TestUser) -> None:
    async with await new_agent(user, DEPLOYED, answers=False) as agent, web_of(user) as web:
        await web.ask("get_agents", "agent_list")
        chosen = {"agentId": agent.id, "claudeSessionId": OWN, "workDir": "/srv/project"}
        await web.send("resume_conversation", **chosen)
        asked = await agent.expect("resume_conversation")
        assert asked["claudeSessionId"] == OWN
        session = asked["conversationId"]
        answer = {"conversationId": session, "claudeSessionId": OWN, "workDir": "/srv/project"}
        await agent.send({"type": "conversation_resumed", **answer, "historyMessages": HISTORY})
        resumed = await web.expect("conversation_resumed")
        assert {name: resumed[name] for name in answer} == answer
        assert resumed["agentId"] == agent.id
        shown = [(row["role"], row["content"]) for row in resumed["dbMessages"]]
        assert shown == [("user", "old question"), ("assistant", "old answer")]
        synced = await web.ask("sync_messages", "sync_messages_result", conversationId=session)
        assert synced["messages"] == resumed["dbMessages"]
        newest = synced["messages"][-1]["created_at"]
        for live, rows in (
            (f"{newest}k3jx9a2bq", []),  # an id that the page made up for what it saw live
            (f"{newest - 60_000}k3jx9a2bq", synced["messages"]),
            (f"{newest + 3_600_000}k3jx9a2bq", synced["messages"]),  # its clock is wrong
            ("made-up-in-another-way", synced["messages"]),
        ):
            since = await web.ask(
                "sync_messages", "sync_messages_result", conversationId=session, afterMessageId=live
            )
            assert since["messages"] == rows


@pytest.mark.parametrize(
    "size", [{}, {"turns": 5}, {"limit": 7}], ids=["as given", "turns", "rows"]
)
async def test_a_long_history_of_the_agents_own_is_paged_to_its_beginning(
    user: TestUser, size: dict[str, int]
) -> None:
    said, answered = HISTORY
    async with await new_agent(user, DEPLOYED, answers=False) as agent, web_of(user) as web:
        await web.ask("get_agents", "agent_list")
        chosen = {"agentId": agent.id, "claudeSessionId": OWN, "workDir": "/srv/project"}
        await web.send("resume_conversation", **chosen)
        session = (await agent.expect("resume_conversation"))["conversationId"]
        messages = [one for _ in range(75) for one in (said, answered)]
        answer = {"type": "conversation_resumed", "conversationId": session}
        await agent.send({**answer, "claudeSessionId": OWN, "historyMessages": messages})
        shown = (await web.expect("conversation_resumed"))["dbMessages"]
        assert len(shown) == 150
        asked = ("sync_messages", "sync_messages_result")
        page = await web.ask(*asked, conversationId=session, **size)
        found = page["messages"]
        while page["hasMore"]:
            before = found[0]["id"]
            page = await web.ask(*asked, conversationId=session, beforeId=before, **size)
            assert page["messages"], "a page that is not the last has rows"
            found = [*page["messages"], *found]
        assert found == shown
        last = shown[99]["id"]
        since = await web.ask(*asked, conversationId=session, afterMessageId=last)
        assert (since["messages"], since["afterMessageId"]) == (shown[100:], last)


async def test_a_page_does_not_begin_anew_when_its_agent_takes_the_conversation_up_again(
    user: TestUser,
) -> None:
    async with await new_agent(user, DEPLOYED) as agent, web_of(user) as web:
        await web.ask("get_agents", "agent_list")
        created = await web.ask("create_conversation", "conversation_created", agentId=agent.id)
        session = created["conversationId"]
        await agent.drop()
        await web.expect("agent_status", lambda one: one["state"] == "offline")
        since = len(web.received)
        await web.send("chat", conversationId=session, prompt="go")
        async with agent.again() as back:
            await back.expect("resume_conversation")
            await back.prompt("go")
            await back.result(session)
            await web.expect("turn_completed")
        told = [one["type"] for one in web.received[since:]]
        assert not {"conversation_created", "conversation_resumed"} & set(told)
