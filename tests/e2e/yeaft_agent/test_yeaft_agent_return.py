"""A Yeaft agent that goes and comes back, and a control plane that does: nothing is said twice,
nothing is lost, and a conversation is taken up before it goes on."""

from pathlib import Path

import pytest

from tests.support.control import Control, TestUser, running
from tests.support.eventually import eventually
from tests.support.yeaft_agent import DEPLOYED, DOCUMENTED, new_agent
from tests.support.yeaft_turn import turn_at

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOTH = pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])


async def until_offline(user: TestUser, machine_id: str) -> None:
    async def online() -> bool:
        return bool((await user.ok("GET", f"/machines/{machine_id}"))["online"])

    await eventually(online, lambda found: not found)


@BOTH
@pytest.mark.proves("002-11-buffered-while-away")
async def test_messages_for_an_agent_that_is_briefly_away_wait_and_come_in_order(
    control: Control, dialect: str
) -> None:
    user = await control.user()
    async with await new_agent(user, dialect) as agent:
        session = await user.session(machine_id=agent.id)
        await agent.expect("create_conversation")
        await agent.drop()
        await until_offline(user, agent.id)
        for message in ("one", "two", "three"):
            await user.say(session, message)
    async with agent.again() as back:
        for message in ("one", "two", "three"):
            await back.prompt(message)
            await back.result(session)
        assert back.said() == ["one", "two", "three"]


@pytest.mark.proves("002-10-offline-cannot-send")
async def test_an_agent_that_does_not_come_back_refuses_messages(tmp_path: Path) -> None:
    async with running(tmp_path / "data", machine_away_s=0.2) as control:
        async with turn_at(control) as (user, agent, session):
            await agent.result(session)
            async with user.reader(session) as reader:
                await reader.until_type("execution_complete")

        async def refusal() -> object:
            status, body = await user.call(
                "POST", f"/sessions/{session}/messages", {"message": "hello?"}
            )
            return body["error"]["code"] if status == 503 else None

        assert await eventually(refusal) == "MACHINE_OFFLINE"
        history = (await user.ok("GET", f"/sessions/{session}/events"))["items"]
        said = [one["event"] for one in history if one["event"]["type"] == "user_message"]
        assert said[0]["content"] == "go", "what was said stays readable"


@BOTH
@pytest.mark.proves("notes-3-sync-first")
async def test_a_turn_goes_on_over_a_broken_line_and_is_not_said_again(
    control: Control, dialect: str
) -> None:
    async with turn_at(control, dialect) as turn, turn.user.reader(turn.session) as reader:
        user, agent, session = turn
        await agent.text(session, "half, ")
        await reader.until_text("half, ")
        await agent.drop()
        async with await agent.returned() as back:
            await back.text(session, "and half")  # what it had kept
            await back.sync()
            await reader.until_text("and half")
            await turn.pass_by(back)
            await back.result(session)
            done = await reader.until_type("execution_complete")
            assert done["content"] == "half, and half"
            await user.say(session, "next")
            await back.prompt("next")
            assert back.said() == ["elsewhere", "next"]


@BOTH
async def test_a_restart_forgets_neither_the_turn_nor_the_dialect(
    tmp_path: Path, dialect: str
) -> None:
    async with running(tmp_path / "data") as control, turn_at(control, dialect) as turn:
        user, agent, session = turn
        await user.say(session, "two")
        await agent.text(session, "before, ")
        async with user.reader(session) as reader:
            await reader.until_text("before, ")
    async with (
        running(tmp_path / "data") as control,
        turn.agent_at(control) as back,
        user.reader(session) as reader,
    ):
        await back.text(session, "after")
        await reader.until_text("after")
        assert back.said() == []
        await back.result(session)
        done = await reader.until_type("execution_complete")
        assert done["content"] == "before, after"
        await back.prompt("two")  # in the agent's own words, though it was asked nothing
        resumed = await back.expect("resume_conversation")
        assert resumed["sessionId"] == f"own-{session}"
