"""A message to a turn that runs, from the REST API to the model, through crashes of either side."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.model_server import Gate, ToolUse, Turn
from tests.support.node import Talk
from tests.support.node_system import System, running_system

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def system(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[System]:
    async with running_system(tmp_path_factory.mktemp("steering")) as made:
        yield made


async def send(talk: Talk, message: str, **fields: str) -> str:
    body = {"message": message, **fields}
    accepted = await talk.user.ok("POST", f"/sessions/{talk.id}/messages", body)
    return str(accepted["turn_id"])


def waiting(file: Path) -> ToolUse:
    command = f"while [ ! -e {file} ]; do sleep 0.02; done; echo built"
    return ToolUse(name="bash", arguments={"command": command})


def prompts(system: System) -> list[str]:
    """What people have said in the newest model call."""
    messages = system.world.model.requests[-1].messages
    said = [str(one["content"]) for one in messages if one["role"] == "user"]
    return [one.split("\n\n")[0] for one in said]


async def test_it_reaches_the_model_at_the_next_step_of_the_turn(
    system: System, tmp_path: Path
) -> None:
    world = system.world
    world.model.script(Turn(tool_calls=[waiting(tmp_path / "go")]), Turn(text="For 3.12."))
    async with await world.session() as talk:
        turn_id = await send(talk, "Build it.", when_busy="steer")  # nothing runs: as without
        await talk.until("tool_call_start")
        steering = {"when_busy": "steer", "client_message_id": "mine"}
        assert await send(talk, "For Python 3.12.", **steering) == turn_id
        assert await send(talk, "For Python 3.12.", **steering) == turn_id
        said = await talk.until("user_message", 2)
        assert (said["turn_id"], said["steers"]) == (turn_id, turn_id)
        (tmp_path / "go").touch()
        assert (await talk.end_of(turn_id))["content"] == "For 3.12."
        assert prompts(system) == ["Build it.", "For Python 3.12."]
        [taken] = talk.events("steer_taken")
        assert (taken["turn_id"], taken["message_id"]) == (turn_id, said["message_id"])
        assert await send(talk, "For Python 3.12.", **steering) == turn_id
        snapshot = await talk.user.ok("GET", f"/sessions/{talk.id}/snapshot")
        assert snapshot["messages"] == [
            {"role": "user", "content": "Build it."},
            {"role": "user", "content": "For Python 3.12."},
            {"role": "assistant", "content": "For 3.12."},
        ]
        assert len(talk.events("execution_complete")) == 1


async def test_a_control_plane_that_is_killed_in_between_has_it_delivered_once(
    system: System, tmp_path: Path
) -> None:
    world = system.world
    world.model.script(Turn(tool_calls=[waiting(tmp_path / "go")]), Turn(text="Both done."))
    async with await world.session() as talk:
        turn_id = await send(talk, "One thing.")
        await talk.until("tool_call_start")
        assert await send(talk, "And another.", when_busy="steer") == turn_id
        await system.control.kill()
        await system.control.start()
        async with Talk(talk.user, talk.id) as again:
            (tmp_path / "go").touch()
            await again.end_of(turn_id)
            if not again.events("steer_taken"):  # the turn was over before the line was back
                world.model.script(Turn(text="That too."))
                await again.end_of((await again.until("steer_missed"))["turn_id"])
            assert prompts(system) == ["One thing.", "And another."]
            assert len(again.events("steer_taken", "steer_missed")) == 1


async def test_replacing_cancels_what_runs_and_then_runs(system: System) -> None:
    world, gate = system.world, Gate()
    world.model.script(Turn(chunks=["On and ", gate]), Turn(text="Stopped."))
    async with await world.session() as talk:
        turn_id = await send(talk, "Go on and on.")
        await talk.until("text_chunk")
        other = await send(talk, "Do this instead.", when_busy="replace")
        assert other != turn_id
        assert (await talk.end_of(turn_id))["cancelled"] is True
        assert (await talk.end_of(other))["content"] == "Stopped."


async def test_what_a_killed_machine_did_not_take_becomes_a_turn_of_its_own(
    system: System, tmp_path: Path
) -> None:
    world = system.world
    world.model.script(Turn(tool_calls=[waiting(tmp_path / "never")]), Turn(text="Here it is."))
    async with await world.session() as talk:
        turn_id = await send(talk, "Wait for it.")
        await talk.until("tool_call_start")
        assert await send(talk, "Leave it.", when_busy="steer") == turn_id
        await world.node.kill()
        await world.node.start()
        assert (await talk.end_of(turn_id))["code"] == "MACHINE_RESTARTED"
        missed = await talk.until("steer_missed")
        assert (missed["steers"], missed["turn_id"]) == (turn_id, missed["message_id"])
        assert (await talk.end_of(missed["turn_id"]))["content"] == "Here it is."
        assert prompts(system)[-1] == "Leave it."
        assert prompts(system).count("Leave it.") == 1
