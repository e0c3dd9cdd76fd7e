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
async def test_a_conversation_of_an_earlier_line_is_resumed_before_its_next_message(
    control: Control, dialect: str
) -> None:
    async with turn_at(control, dialect) as (user, agent, session):
        await agent.result(session)
        async with user.reader(session) as reader:
            await reader.until_type("execution_complete")
    async with agent.again() as back:
        await user.say(session, "two")
        await back.prompt("two")
        kinds = [one["type"] for one in back.received]
        assert kinds.index("resume_conversation") < kinds.index(back.received[-1]["type"])
        resumed = await back.expect("resume_conversation")
        assert resumed["conversationId"] == session
        assert resumed["sessionId"] == resumed["claudeSessionId"] == f"own-{session}"
        assert "create_conversation" not in kinds
        await back.result(session)
        await user.say(session, "three")
        await back.prompt("three")
        assert len(back.of_type("resume_conversation")) == 1


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


async def test_messages_that_were_given_up_are_not_said_to_an_agent_that_returns_late(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", machine_away_s=0.1) as control:
        async with turn_at(control) as (user, agent, session):
            for message in ("two", "three"):
                await user.say(session, message)

        async def ended() -> int:
            found = await user.ok("GET", f"/sessions/{session}/events")
            return str(found).count("MACHINE_OFFLINE")

        await eventually(ended, lambda count: count >= 3)
        async with agent.again() as back:
            await user.say(session, "four")
            await back.prompt("four")
            assert back.said() == ["four"]


async def test_a_session_that_was_closed_while_the_agent_was_away_is_deleted(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", machine_away_s=0.1) as control:
        user = await control.user()
        agent = await new_agent(user, DEPLOYED)
        async with agent:
            session = await user.session(machine_id=agent.id)
            await agent.expect("create_conversation")

        async def gone() -> bool:
            status, _ = await user.call(
                "POST", f"/sessions/{session}/messages", {"message": "there?"}
            )
            return status == 503

        await eventually(gone)
        await user.ok("DELETE", f"/sessions/{session}")
        async with await agent.returned() as back:
            await back.sync({"id": session, "processing": False})
            assert (await back.expect("delete_conversation"))["conversationId"] == session


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
