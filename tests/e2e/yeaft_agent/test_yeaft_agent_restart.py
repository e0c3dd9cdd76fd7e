"""The control plane is killed while a Yeaft agent is at a turn: the turn goes on, and runs once."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.control import ControlProcess, TestUser, running
from tests.support.eventually import eventually
from tests.support.yeaft_agent import DEPLOYED, DOCUMENTED
from tests.support.yeaft_turn import turn_at
from tests.support.yeaft_web import web_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


BOTH = pytest.mark.parametrize("dialect", [DOCUMENTED, DEPLOYED])


@BOTH
async def test_what_an_agent_kept_for_a_killed_control_plane_is_of_its_turn(
    process: ControlProcess, dialect: str
) -> None:
    async with turn_at(process, dialect) as (user, agent, session):
        await process.kill()
        await agent.closed()
    await process.start()
    async with await agent.returned() as back, user.reader(session) as reader:
        await back.text(session, "Hello")
        await back.result(session)
        await back.sync()
        done = await reader.until_type("execution_complete")
        assert done["content"] == "Hello"
        turn = await user.say(session, "next")
        await back.prompt("next")
        await back.result(session)
        await reader.until(lambda found: turn in str(found.events[-1]), "the next end")
        assert back.said() == ["next"]


async def test_a_turn_that_the_agent_is_busy_with_is_not_said_again(
    process: ControlProcess,
) -> None:
    async with turn_at(process, DEPLOYED) as turn:
        user, agent, session = turn
        await process.kill()
        await agent.closed()
    await process.start()
    async with await agent.returned() as back, user.reader(session) as reader:
        await back.sync({"id": session, "processing": True})
        await turn.pass_by(back)
        await back.text(session, "Hello")
        await back.result(session)
        done = await reader.until_type("execution_complete")
        assert done["content"] == "Hello"
        assert back.said() == ["elsewhere"]
        assert back.of_type("resume_conversation") == []


@BOTH
async def test_a_cancel_is_not_forgotten(tmp_path: Path, dialect: str) -> None:
    async with running(tmp_path / "data") as process, turn_at(process, dialect) as turn:
        user, agent, session = turn
        await user.ok("POST", f"/sessions/{session}/cancel", {})
        await agent.expect("cancel_execution")
    async with (
        running(tmp_path / "data") as process,
        turn.agent_at(process) as back,
        user.reader(session) as reader,
    ):
        await back.expect("cancel_execution")
        assert back.said() == []
        await back.cancelled(session)
        done = await reader.until_type("execution_complete")
        assert done["cancelled"] is True
        await user.say(session, "next")
        await back.prompt("next")


@pytest.mark.proves("notes-3-slash-commands")
async def test_slash_commands_are_known_after_a_restart_though_the_agent_says_them_once(
    tmp_path: Path,
) -> None:
    commands = {"slashCommands": ["cost"], "slashCommandDescriptions": {"cost": "Show costs"}}
    update = {"type": "slash_commands_update", "conversationId": "__preload__", **commands}
    async with running(tmp_path / "data") as process, turn_at(process, DEPLOYED) as turn:
        await turn.agent.send(update)
        await selected(turn.user, turn.agent.id, commands)
    async with running(tmp_path / "data") as process, turn.agent_at(process) as back:
        await selected(turn.user, back.id, commands)


async def selected(user: TestUser, agent_id: str, commands: dict[str, Any]) -> None:
    """Waits until a page that selects the agent is told these."""
    async with web_of(user) as page:

        async def told() -> bool:
            found = await page.ask("select_agent", "agent_selected", agentId=agent_id)
            return {**found, **commands} == found

        await eventually(told)


async def test_a_cancel_of_an_earlier_turn_is_not_the_next_ones(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as process, turn_at(process) as turn:
        user, agent, session = turn
        await user.ok("POST", f"/sessions/{session}/cancel", {})
        await agent.expect("cancel_execution")
        await agent.cancelled(session)
        await user.until_turns(session, "cancelled")
        await user.say(session, "two")
        await agent.prompt("two")
    async with running(tmp_path / "data") as process, turn.agent_at(process) as back:
        await back.sync({"id": session, "processing": False})
        await back.prompt("two")
        await turn.pass_by(back)
        assert back.of_type("cancel_execution") == []
        await back.result(session)
        await user.until_turns(session, "cancelled", "completed")
