"""A Yeaft agent as a session's machine, in both dialects: turns, tools, questions, ends."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.yeaft_agent import DEPLOYED, DOCUMENTED, ScriptedAgent, new_agent
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", params=[DOCUMENTED, DEPLOYED])
async def agent(user: TestUser, request: pytest.FixtureRequest) -> AsyncIterator[ScriptedAgent]:
    async with await new_agent(user, request.param) as live:
        yield live


async def answer(user: TestUser, request_id: str, answer: object) -> None:
    """As soon as the question is recorded, which is right after it is shown."""

    async def status() -> int:
        body = {"confirmed": True, "answer": answer}
        return (await user.call("POST", f"/approvals/{request_id}", body))[0]

    await eventually(status, lambda found: found == 200)


@pytest.mark.proves("002-4.1-create-conversation")
@pytest.mark.proves("notes-3-created-with-both-dialects")
async def test_a_session_becomes_a_conversation_with_the_fields_of_both_dialects(
    user: TestUser, agent: ScriptedAgent
) -> None:
    session = await user.session(
        machine_id=agent.id,
        session_config={
            "provider": "copilot",
            "workDir": "/srv/other",
            "options": {"a": 1},
            "yeaft": {"zzz": {"b": 2}},
        },
    )
    created = await agent.expect("create_conversation")
    assert created["conversationId"] == session
    assert (created["provider"], created["workDir"]) == ("copilot", "/srv/other")
    assert created["options"] == created["providerOptions"] == {"a": 1}
    assert created["zzz"] == {"b": 2}
    assert created["userId"] == user.id
    assert created["username"]


async def test_what_the_session_does_not_choose_is_the_agents_own(
    user: TestUser, agent: ScriptedAgent
) -> None:
    await user.session(machine_id=agent.id, agent_config={"model": "m-1", "system_prompt": "Hi."})
    created = await agent.expect("create_conversation")
    assert (created["provider"], created["workDir"]) == ("claude-code", "/srv/project")
    assert created["options"] == {"model": "m-1", "systemPrompt": "Hi."}


@pytest.mark.proves("002-3-both-directions", "002-4.2-claude-output")
@pytest.mark.proves("notes-3-deployed-agent")
async def test_a_turn_streams_into_the_log_and_ends_once(
    user: TestUser, agent: ScriptedAgent
) -> None:
    session = await user.session(machine_id=agent.id)
    async with user.reader(session) as reader:
        turn = await user.say(session, "hello")
        prompt = await agent.prompt("hello")
        assert prompt["conversationId"] == session
        thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
        await agent.blocks(session, thought, {"type": "text", "text": "I look. "})
        await agent.tool(session, "tool_1", "bash", {"command": "ls"})
        await agent.tool_result(session, "tool_1", [{"type": "text", "text": "a.txt"}])
        await agent.text(session, "One ", "file.")
        await agent.result(session)
        done = await reader.until_type("execution_complete")
        assert done["content"] == "I look. One file."
        said = [one.json for one in reader.events]
        assert [one["type"] for one in said if one["type"] != "foreign"] == [
            "session_status",
            "user_message",
            "thinking",
            "text_chunk",
            "tool_call_start",
            "tool_call_complete",
            "text_chunk",
            "text_chunk",
            "usage",
            "execution_complete",
        ]
        assert all(one["turn_id"] == turn for one in said[1:])
        start = await reader.until_type("tool_call_start")
        assert (start["tool_name"], start["tool_input"]) == ("bash", {"command": "ls"})
        complete = await reader.until_type("tool_call_complete")
        assert (complete["tool_name"], complete["result"]) == ("bash", "a.txt")
        usage = await reader.until_type("usage")
        assert (usage["tokens_in"], usage["tokens_out"]) == (10, 5)


@pytest.mark.proves("002-5.1-wrapped-as-it-is")
@pytest.mark.proves("002-12-envelope-and-what-it-became")
async def test_the_envelope_is_kept_as_it_came(user: TestUser, agent: ScriptedAgent) -> None:
    session = await user.session(machine_id=agent.id)
    odd = (
        f'{{ "type":"claude_output", "x":[1,2.50,"é\\u00e9"],"conversationId":"{session}",'
        '"data":{"type":"assistant","message":{"content":[{"type":"text","text":"a\\/b"}]}}}'
    )
    async with user.reader(session) as reader:
        await agent.send_text(odd)
        await reader.until_text("a/b")
        (line,) = [one.data for one in reader.events if '"text_chunk"' in one.data]
        assert odd in line


@pytest.mark.proves("002-7-answer")
async def test_a_question_is_answered_by_any_client(user: TestUser, agent: ScriptedAgent) -> None:
    session = await user.session(machine_id=agent.id)
    await user.say(session, "go")
    await agent.prompt("go")
    async with user.reader(session) as reader:
        await agent.ask(session, "q-1", "Which?", choices=["A", "B"], multiSelect=False)
        asked = await reader.until_type("approval_request")
        assert (asked["request_id"], asked["kind"], asked["message"]) == ("q-1", "select", "Which?")
        assert (asked["options"], asked["timeout_seconds"]) == (["A", "B"], 300.0)
        await answer(user, "q-1", "B")
        assert await agent.expect("ask_user_answer") == {
            "type": "ask_user_answer",
            "conversationId": session,
            "requestId": "q-1",
            "answer": "B",
            "confirmed": True,
        }


@pytest.mark.parametrize("is_yes", [True, False])
async def test_a_question_for_approval_shows_its_tool_to_everybody(
    user: TestUser, agent: ScriptedAgent, is_yes: bool
) -> None:
    session = await user.session(machine_id=agent.id)
    await user.say(session, "go")
    await agent.prompt("go")
    tool = {"kind": "approve", "toolName": "bash", "toolInput": {"command": "rm -r a"}}
    async with user.reader(session) as reader, web_of(user) as web:
        await web.send("resume_conversation", conversationId=session)
        request_id = f"q-{session}"
        await agent.ask(session, request_id, "May I?", choices=["yes", "no"], **tool)
        asked = await reader.until_type("approval_request")
        assert (asked["kind"], asked["tool_name"]) == ("approve", "bash")
        assert asked["tool_input"] == {"command": "rm -r a"}
        shown = await web.expect("ask_user_question")
        assert {name: shown[name] for name in tool} == tool
        word = "yes" if is_yes else "no"
        await web.send("ask_user_answer", requestId=request_id, answer=word)
        heard = await agent.expect("ask_user_answer")
        assert (heard["confirmed"], heard["answer"]) == (is_yes, "yes" if is_yes else "")


@pytest.mark.proves("notes-3-questions-and-answers")
async def test_questions_in_a_list_get_their_answers_by_name(
    user: TestUser, agent: ScriptedAgent
) -> None:
    session = await user.session(machine_id=agent.id)
    await user.say(session, "go")
    await agent.prompt("go")
    question = {
        "question": "Which colour?",
        "header": "Colour",
        "options": [{"label": "red", "description": ""}, {"label": "blue", "description": ""}],
        "multiSelect": False,
    }
    async with user.reader(session) as reader:
        await agent.send(
            {
                "type": "ask_user_question",
                "conversationId": session,
                "requestId": "q-2",
                "questions": [question],
            }
        )
        asked = await reader.until_type("approval_request")
        assert (asked["message"], asked["options"]) == ("Which colour?", ["red", "blue"])
        await answer(user, "q-2", "blue")
        heard = await agent.expect("ask_user_answer")
        assert heard["answers"] == {"Which colour?": "blue"}


@pytest.mark.proves("notes-3-deployed-agent")
async def test_a_cancelled_turn_ends_as_cancelled(user: TestUser, agent: ScriptedAgent) -> None:
    session = await user.session(machine_id=agent.id)
    await user.say(session, "go")
    await agent.prompt("go")
    await agent.text(session, "half")
    async with user.reader(session) as reader:
        await reader.until_text("half")
        await user.ok("POST", f"/sessions/{session}/cancel", {})
        cancel = await agent.expect("cancel_execution")
        assert cancel == {"type": "cancel_execution", "conversationId": session}
        await agent.cancelled(session)
        done = await reader.until_type("execution_complete")
        assert (done["cancelled"], done["content"]) == (True, "half")


@pytest.mark.proves("002-6-attachments")
@pytest.mark.proves("notes-3-transfer-files")
async def test_files_travel_with_their_message(user: TestUser, agent: ScriptedAgent) -> None:
    session = await user.session(machine_id=agent.id)
    attached = [{"name": "a.txt", "mime": "text/plain", "base64": "aGk="}]
    await user.say(session, "read it", metadata={"attachments": attached})
    prompt = await agent.prompt("read it")
    if agent.dialect == DOCUMENTED:
        assert prompt["attachments"] == attached
    else:
        assert prompt["files"] == [{"name": "a.txt", "mimeType": "text/plain", "data": "aGk="}]
        assert agent.of_type("execute") == []


@pytest.mark.proves("002-4.1-delete-conversation")
async def test_a_session_that_is_closed_is_deleted(user: TestUser, agent: ScriptedAgent) -> None:
    session = await user.session(machine_id=agent.id)
    await agent.expect("create_conversation")
    await user.ok("DELETE", f"/sessions/{session}")
    deleted = await agent.expect("delete_conversation")
    assert deleted == {"type": "delete_conversation", "conversationId": session}


@pytest.mark.proves("002-11-heartbeat")
async def test_the_agents_state_is_its_machines_health(
    user: TestUser, agent: ScriptedAgent
) -> None:
    await agent.send({"type": "agent_status", "state": "busy"})

    async def state() -> object:
        machine = await user.ok("GET", f"/machines/{agent.id}")
        return machine["health"].get("state")

    await eventually(state, lambda found: found == "busy")
