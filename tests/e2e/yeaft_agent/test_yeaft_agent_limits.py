"""What a Yeaft agent does not do in time is done here: conversations that do not start, turns that
do not end, questions that nobody answers."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import FakeClock
from tests.support.control import TestUser, running
from tests.support.eventually import eventually
from tests.support.yeaft_agent import ScriptedAgent, new_agent

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def pending(user: TestUser) -> list[Any]:
    found = await user.ok("GET", "/approvals")
    return list(found["items"] if isinstance(found, dict) else found)


async def ask(user: TestUser, agent: ScriptedAgent) -> str:
    session = await user.session(machine_id=agent.id)
    await user.say(session, "go")
    await agent.prompt("go")
    await agent.ask(session, "q-1", "May I?")

    async def asked() -> list[Any]:
        return await pending(user)

    await eventually(asked)
    return session


@pytest.mark.proves("notes-2-confirm-300-s")
async def test_a_question_without_an_answer_means_no(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path / "data", clock) as control:
        user = await control.user()
        async with await new_agent(user) as agent:
            session = await ask(user, agent)
            async with user.reader(session) as reader:
                clock.advance(301)
                denied = await agent.expect("ask_user_answer")
                assert (denied["requestId"], denied["answer"]) == ("q-1", "")
                assert denied["confirmed"] is False
                told = await reader.until_type("approval_resolved")
                assert (told["confirmed"], told["reason"]) == (False, "timeout")
            assert await pending(user) == []
            late = await user.call("POST", "/approvals/q-1", {"confirmed": True})
            assert late[0] == 409


async def test_a_questions_time_goes_on_over_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path / "data", clock) as control:
        user = await control.user()
        agent = await new_agent(user)
        async with agent:
            session = await ask(user, agent)
    clock.advance(200)
    async with running(tmp_path / "data", clock) as control:
        user.control = control
        async with ScriptedAgent(control.url, agent.id, agent.secret) as back:
            other = await user.session(machine_id=agent.id)
            await back.expect("create_conversation", lambda one: one["conversationId"] == other)
            assert back.of_type("ask_user_answer") == []
            clock.advance(101)
            denied = await back.expect("ask_user_answer")
            assert (denied["conversationId"], denied["confirmed"]) == (session, False)
