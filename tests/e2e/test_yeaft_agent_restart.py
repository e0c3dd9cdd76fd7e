"""The control plane is killed while a Yeaft agent is at a turn: the turn goes on, and runs once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.control import ControlProcess, running
from tests.support.yeaft_agent import DEPLOYED, DOCUMENTED, ScriptedAgent, new_agent

BOTH = pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[ControlProcess]:
    started = await ControlProcess(tmp_path / "data").start()
    yield started
    await started.terminate()


@BOTH
async def test_what_an_agent_kept_for_a_killed_control_plane_is_of_its_turn(
    process: ControlProcess, dialect: str
) -> None:
    user = await process.user()
    async with await new_agent(user, dialect) as agent:
        session = await user.session(machine_id=agent.id)
        await user.say(session, "go")
        await agent.prompt("go")
        await process.kill()
        await agent.closed()
    await process.start()
    back = agent.again()
    await back.connect()
    await back.register(sync=False)
    await back.text(session, "Hello")
    await back.result(session)
    await back.sync()
    async with user.reader(session) as reader:
        done = await reader.until_type("execution_complete")
        assert done["content"] == "Hello"
        turn = await user.say(session, "next")
        await back.prompt("next")
        await back.result(session)
        await reader.until(lambda found: turn in str(found.events[-1]), "the next end")
    said = [one.get("text", one.get("prompt")) for one in back.received]
    assert [one for one in said if one is not None] == ["next"]
    await back.leave()


async def test_a_turn_that_the_agent_is_busy_with_is_not_said_again(
    process: ControlProcess,
) -> None:
    user = await process.user()
    async with await new_agent(user, DEPLOYED) as agent:
        session = await user.session(machine_id=agent.id)
        await user.say(session, "go")
        await agent.prompt("go")
        await process.kill()
        await agent.closed()
    await process.start()
    back = agent.again()
    await back.connect()
    await back.register(sync=False)
    await back.sync({"id": session, "processing": True})
    other = await user.session(machine_id=agent.id)
    await user.say(other, "elsewhere")
    await back.prompt("elsewhere")  # behind whatever had to be said again
    await back.text(session, "Hello")
    await back.result(session)
    async with user.reader(session) as reader:
        done = await reader.until_type("execution_complete")
        assert done["content"] == "Hello"
    assert [one["prompt"] for one in back.of_type("execute")] == ["elsewhere"]
    assert back.of_type("resume_conversation") == []
    await back.leave()


@BOTH
async def test_a_cancel_is_not_forgotten(tmp_path: Path, dialect: str) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        agent = await new_agent(user, dialect)
        async with agent:
            session = await user.session(machine_id=agent.id)
            await user.say(session, "go")
            await agent.prompt("go")
            await user.ok("POST", f"/sessions/{session}/cancel", {})
            await agent.expect("cancel_execution")
    async with running(tmp_path / "data") as control:
        user.control = control
        back = ScriptedAgent(control.url, agent.id, agent.secret, dialect)
        async with back, user.reader(session) as reader:
            await back.expect("cancel_execution")
            assert back.of_type("send_message") == back.of_type("execute") == []
            await back.cancelled(session)
            done = await reader.until_type("execution_complete")
            assert done["cancelled"] is True
            await user.say(session, "next")
            await back.prompt("next")


async def test_a_cancel_of_an_earlier_turn_is_not_the_next_ones(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        agent = await new_agent(user)
        async with agent:
            session = await user.session(machine_id=agent.id)
            await user.say(session, "one")
            await agent.prompt("one")
            await user.ok("POST", f"/sessions/{session}/cancel", {})
            await agent.cancelled(session)
            async with user.reader(session) as reader:
                await reader.until_type("execution_complete")
            await user.say(session, "two")
            await agent.prompt("two")
    async with running(tmp_path / "data") as control:
        user.control = control
        async with ScriptedAgent(control.url, agent.id, agent.secret) as back:
            await back.prompt("two")
            assert back.of_type("cancel_execution") == []
