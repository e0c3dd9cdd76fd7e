"""A Yeaft web client and a Yeaft agent: the relay between them (002, "Server 的角色")."""

import pytest

from tests.support.control import TestUser
from tests.support.yeaft_agent import DEPLOYED, DOCUMENTED, new_agent
from tests.support.yeaft_web import is_result, web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

ODD = ' "data":{"type":"assistant","z":[1.0, 1e3],"message":{"content":"é\\u00e9"}}}'


@pytest.mark.proves(
    "002-9-data-is-not-parsed",
    "002-4.2-crew-output",
    "002-4.2-settings-answers",
    "002-1-type-names",
)
async def test_what_an_agent_says_arrives_byte_for_byte(user: TestUser) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        said = [
            f'{{"type":"claude_output", "conversationId":"{session}",{ODD}',
            f'{{"type":"crew_output","conversationId":"{session}","sessionId":"s","role":"pm"}}',
            f'{{"conversationId":"{session}","type":"never_heard_of","x":{{"y":[]}}}}',
            '{"type":"llm_config","providers":[ ]}',
        ]
        for text in said:
            await agent.send_text(text)
        await web.until(lambda _new: all(text in web.texts for text in said))


@pytest.mark.proves("002-3-both-directions", "notes-3-deployed-agent")
@pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])
async def test_a_turn_of_either_dialect_has_one_result(user: TestUser, dialect: str) -> None:
    async with await new_agent(user, dialect) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id, provider="copilot", workDir="/w")
        created = await agent.expect("create_conversation")
        assert (created["provider"], created["workDir"]) == ("copilot", "/w")
        await web.send("send_message", conversationId=session, text="hello", mood="good")
        prompt = await agent.prompt("hello")
        assert (prompt["conversationId"], prompt["mood"]) == (session, "good")
        await agent.text(session, "Hi ", "there")
        await agent.result(session)
        result = await web.result()
        assert result["total_cost_usd"] == 0.012
        since = len(web.received)
        await web.send("send_message", conversationId=session, text="next")
        await agent.prompt("next")
        await agent.result(session)
        await web.result(since)
        assert sum(is_result(one) for one in web.received) == 2
        assert web.text_of(session) == "Hi there"


async def test_a_deployed_client_of_a_deployed_agent_is_told_the_agent(user: TestUser) -> None:
    async with await new_agent(user, DEPLOYED) as agent, web_of(user) as web:
        await web.ask("get_agents", "agent_list")
        created = await web.ask("create_conversation", "conversation_created", agentId=agent.id)
        assert created["agentId"] == agent.id
        await web.send("chat", conversationId=created["conversationId"], prompt="hi")
        await agent.prompt("hi")
        await agent.result(created["conversationId"])
        await web.expect("turn_completed")
        assert len(web.of_type("turn_completed")) == 1
        await agent.send({"type": "yeaft_settings", "maxConcurrentThreads": 4})
        assert (await web.expect("yeaft_settings"))["agentId"] == agent.id


@pytest.mark.proves("002-9-routed-by-pin", "002-4.2-settings-answers", "002-1-unknown-types-pass")
async def test_what_the_control_plane_does_not_know_goes_to_the_agent_as_it_came(
    user: TestUser,
) -> None:
    async with await new_agent(user) as agent, await new_agent(user) as other, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        texts = [
            f'{{"type":"get_llm_config","agentId":"{agent.id}", "x": 1.0}}',
            f'{{ "type":"compact","conversationId":"{session}","deep":{{"é":[1e2]}}}}',
            f'{{"type":"list_folders","agentId":"{agent.id}","provider":"copilot"}}',
            f'{{"type":"list_history_sessions","agentId":"{agent.id}","workDir":"/w"}}',
        ]
        for text in texts:
            await web.send_text(text)
        await agent.expect("list_history_sessions")
        await agent.expect("compact")
        assert all(text in agent.texts for text in texts)
        await agent.send({"type": "folders_list", "requestId": 1, "folders": [{"path": "/w"}]})
        assert (await web.expect("folders_list"))["folders"] == [{"path": "/w"}]
        assert not {"get_llm_config", "compact"} & {one["type"] for one in other.received}


async def test_an_unknown_type_needs_somebody_who_knows_it(user: TestUser) -> None:
    async with await user.vm(), web_of(user) as web:
        nobody = await web.ask("compact", "error")
        assert nobody["code"] == "UNKNOWN_TYPE"
        session = await web.create()
        wrong = await web.ask("compact", "error", conversationId=session)
        assert wrong["code"] == "UNSUPPORTED"


@pytest.mark.proves("002-7-answer", "002-7-turn-goes-on")
async def test_an_agents_question_is_shown_as_it_came_and_answered(user: TestUser) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        await web.send("send_message", conversationId=session, text="go")
        await agent.prompt("go")
        await agent.ask(session, "q-1", "Which?", choices=["A", "B"], multiSelect=False)
        asked = await web.expect("ask_user_question")
        assert (asked["prompt"], asked["choices"]) == ("Which?", ["A", "B"])
        await web.send("ask_user_answer", conversationId=session, requestId="q-1", answer="B")
        answer = await agent.expect("ask_user_answer")
        assert (answer["requestId"], answer["answer"]) == ("q-1", "B")
        await web.expect("ask_user_answered")
        await agent.result(session)
        await web.result()


@pytest.mark.proves("notes-3-questions-and-answers")
async def test_answers_to_several_questions_go_back_as_they_came(user: TestUser) -> None:
    async with await new_agent(user, DEPLOYED) as agent, web_of(user) as web:
        session = await web.create(agentId=agent.id)
        await web.send("send_message", conversationId=session, text="go")
        await agent.prompt("go")
        questions = [{"question": "Color?", "options": []}, {"question": "Size?", "options": []}]
        await agent.send(
            {
                "type": "ask_user_question",
                "conversationId": session,
                "requestId": "q-2",
                "questions": questions,
            }
        )
        assert (await web.expect("ask_user_question"))["questions"] == questions
        answers = {"Color?": "red", "Size?": ["S", "M"]}
        await web.send("ask_user_answer", requestId="q-2", answers=answers)
        assert (await agent.expect("ask_user_answer"))["answers"] == answers


@pytest.mark.proves("002-4.1-resume-conversation")
@pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])
async def test_a_session_of_the_agents_own_history_is_taken_up(
    user: TestUser, dialect: str
) -> None:
    async with await new_agent(user, dialect) as agent, web_of(user) as web:
        ready = await web.ask(
            "resume_conversation",
            "session_ready",
            agentId=agent.id,
            sessionId="old-1",
            provider="copilot",
            workDir="/w",
        )
        resumed = await agent.expect("resume_conversation")
        assert (resumed["sessionId"], resumed["claudeSessionId"]) == ("old-1", "old-1")
        assert (resumed["workDir"], resumed["provider"]) == ("/w", "copilot")
        session = ready["conversationId"]
        assert resumed["conversationId"] == session
        assert agent.of_type("create_conversation") == []
        await web.send("send_message", conversationId=session, text="go on")
        await agent.prompt("go on")
        await agent.result(session)
        await web.result()


@pytest.mark.proves("002-11-heartbeat")
async def test_an_agents_heartbeat_is_its_status(user: TestUser) -> None:
    async with await new_agent(user) as agent, web_of(user) as web:
        for state in ("busy", "idle"):
            since = len(web.received)
            await agent.send({"type": "agent_status", "state": state})
            told = await web.expect("agent_status", since=since)
            assert (told["agentId"], told["state"]) == (agent.id, state)
