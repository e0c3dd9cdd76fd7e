"""What a Yeaft agent does not do in time is done here: conversations that do not start, turns that
do not end, questions that nobody answers."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import FakeClock
from tests.support.control import Control, TestUser, running
from tests.support.eventually import eventually
from tests.support.yeaft_agent import DEPLOYED, DOCUMENTED, ScriptedAgent, new_agent
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOTH = pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])


@BOTH
async def test_a_cancel_that_the_agent_does_not_follow_ends_the_turn_here(
    tmp_path: Path, dialect: str
) -> None:
    # It never says that the first one is over.
    tuning = Tuning(cancel_grace_s=0.1, yeaft_quiet_s=0.1)
    async with running(tmp_path / "data", tuning=tuning) as control:
        await _not_followed(await control.user(), dialect)


async def _not_followed(user: TestUser, dialect: str) -> None:
    async with await new_agent(user, dialect) as agent:
        session = await user.session(machine_id=agent.id)
        await user.say(session, "one")
        await agent.prompt("one")
        async with user.reader(session) as reader:
            await user.ok("POST", f"/sessions/{session}/cancel", {})
            await agent.expect("cancel_execution")
            done = await reader.until_type("execution_complete")
            assert done["cancelled"] is True
            await user.say(session, "two")
            await agent.prompt("two")
            await agent.text(session, "fine")
            await agent.result(session)

            def ends() -> list[Any]:
                kinds = ("execution_complete", "execution_error")
                return [one.json for one in reader.events if one.json["type"] in kinds]

            await reader.until(lambda _reader: len(ends()) == 2, "second end")
            assert ends()[1]["content"] == "fine"


async def test_a_program_that_ends_in_the_middle_of_a_turn_ends_it(control: Control) -> None:
    user = await control.user()
    async with await new_agent(user, DEPLOYED) as agent:
        session = await user.session(machine_id=agent.id)
        await user.say(session, "go")
        await agent.prompt("go")
        async with user.reader(session) as reader:
            await agent.send(
                {"type": "error", "conversationId": session, "message": "spawn failed"},
                {"type": "conversation_closed", "conversationId": session, "exitCode": 1},
            )
            error = await reader.until_type("execution_error")
            assert (error["code"], error["error"]) == ("SESSION_CRASHED", "spawn failed")
            assert error["exit_code"] == 1
        await user.say(session, "again")
        await agent.prompt("again")
        assert agent.of_type("resume_conversation")


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


async def test_a_question_of_a_turn_that_has_ended_is_not_answered_any_more(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path / "data", clock) as control:
        user = await control.user()
        async with await new_agent(user) as agent:
            session = await ask(user, agent)
            async with user.reader(session) as reader:
                await agent.result(session)
                told = await reader.until_type("approval_resolved")
                assert told["reason"] == "turn_ended"
                clock.advance(301)
                second = await ask(user, agent)
                clock.advance(301)
                denied = await agent.expect("ask_user_answer")
                assert denied["conversationId"] == second
