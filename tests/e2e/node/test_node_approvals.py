"""Questions to a person, and cancelling, on a whole system."""

from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from tests.support.control import ControlProcess
from tests.support.eventually import eventually
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.support.node import Talk, World, is_alive

pytestmark = pytest.mark.asyncio(loop_scope="module")
BASH = ToolUse(name="bash", arguments={"command": "echo done > proof.txt"})
LIST = ToolUse(name="list_files", arguments={})
CAREFUL = {"confirm": "dangerous"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("approvals")
    async with (
        ControlProcess(folder / "data") as control,
        ModelServer() as model,
        World(control, model, folder / "home") as world,
    ):
        yield world


@pytest.fixture
def proof(world: World) -> Path:
    """What the tool leaves behind when it ran."""
    path = world.node.workspace / "proof.txt"
    path.unlink(missing_ok=True)
    return path


async def test_a_dangerous_tool_waits_for_a_yes(world: World, proof: Path) -> None:
    world.model.script(Turn(tool_calls=[BASH]), Turn(text="Written."))
    async with await world.session(agent=CAREFUL) as talk:
        turn_id = await talk.say("Write it.")
        asked = await talk.until("approval_request")
        assert (asked["tool_name"], asked["turn_id"]) == ("bash", turn_id)
        assert asked["tool_input"] == BASH.arguments
        assert not proof.exists()
        await talk.answer(asked["request_id"], True)
        assert (await talk.end_of(turn_id))["content"] == "Written."
        assert proof.read_text() == "done\n"


async def test_a_tool_that_is_allowed_for_the_session_asks_once(world: World, proof: Path) -> None:
    world.model.script(
        Turn(tool_calls=[BASH]), Turn(text="Once."), Turn(tool_calls=[BASH]), Turn(text="Twice.")
    )
    async with await world.session(agent=CAREFUL) as talk:
        turn_id = await talk.say("Write it.")
        asked = await talk.until("approval_request")
        await talk.answer(asked["request_id"], True, scope="session")
        await talk.end_of(turn_id)
        await _kill_sessions_of(world)
        again = await talk.ask("Again.")
        assert again.get("content") == "Twice.", again
        asked_for = [one for one in talk.events() if one["type"] == "approval_request"]
        assert len(asked_for) == 1


async def test_other_sessions_go_on_while_one_waits(world: World, proof: Path) -> None:
    world.model.script(Turn(tool_calls=[BASH]), Turn(text="Here."), Turn(text="Written."))
    async with await world.session(agent=CAREFUL) as waiting, await world.session() as other:
        turn_id = await waiting.say("Write it.")
        asked = await waiting.until("approval_request")
        assert (await other.ask("Are you there?"))["content"] == "Here."
        await waiting.answer(asked["request_id"], True)
        await waiting.end_of(turn_id)


@pytest.mark.parametrize("victim", ["daemon", "control plane", "session process"])
async def test_a_question_is_answered_after_a_restart(
    world: World, proof: Path, victim: str
) -> None:
    """A call beside it was made before, and is not made again."""
    world.model.script(Turn(tool_calls=[LIST, BASH]), Turn(text="Written after all."))
    talk = await world.session(agent=CAREFUL)
    async with talk:
        turn_id = await talk.say("Write it.")
        asked = await talk.until("approval_request")
        await talk.until("tool_call_complete")
    match victim:
        case "daemon":
            await world.node.kill()
            await world.node.start()
        case "control plane":
            assert isinstance(world.control, ControlProcess)
            await world.control.kill()
            await world.control.start()
        case _:
            await _kill_sessions_of(world)
    async with Talk(world.user, talk.id) as again:
        await again.answer(asked["request_id"], True)
        end = await again.end_of(turn_id)
        assert (end["type"], end.get("content")) == ("execution_complete", "Written after all.")
        assert proof.read_text() == "done\n"
        made = [one["tool_name"] for one in again.events("tool_call_start")]
        assert made == ["list_files", "bash"]
        assert again.reader.ids == list(range(1, len(again.reader.ids) + 1))


async def _kill_sessions_of(world: World) -> None:
    """kill -9 for every session process of the daemon; none of their threads is left."""
    sessions = world.node.session_processes()
    assert sessions
    for process in sessions:
        process.kill()

    async def left() -> list[int]:
        return [one.pid for one in sessions if one.is_running()]

    await eventually(left, lambda pids: not pids)


@pytest.mark.proves(
    "000-5.6-runtime-is-cancelled",
    "000-5.6-model-stream-is-closed",
    "004-4.3-cancel-event",
)
async def test_cancel_in_the_middle_of_text_closes_the_models_stream(world: World) -> None:
    gate = Gate()
    world.model.script(Turn(chunks=["I was about to ", gate, "finish."]), Turn(text="As you like."))
    async with await world.session() as talk:
        turn_id = await talk.say("Speak.")
        await talk.until("text_chunk")
        await world.user.ok("POST", f"/sessions/{talk.id}/cancel", {})
        end = await talk.end_of(turn_id)
        assert (end["type"], end["cancelled"]) == ("execution_complete", True)
        await world.model.requests[-1].disconnected.wait()
        assert (await talk.ask("Never mind."))["content"] == "As you like."
        assert len(talk.ends(turn_id)) == 1
    said = [text for _, text in world.model.requests[-1].said]
    assert any("I was about to" in str(one) for one in said)
    gate.open()


@pytest.mark.proves("000-5.6-runtime-is-cancelled")
async def test_cancel_in_the_middle_of_a_tool_ends_all_its_processes(world: World) -> None:
    command = "sleep 987 & echo $! > sleeper.pid; wait"
    world.model.script(
        Turn(tool_calls=[ToolUse(name="bash", arguments={"command": command})]),
        Turn(text="Awake."),
    )
    async with await world.session() as talk:
        turn_id = await talk.say("Sleep.")
        await talk.until("tool_call_start")
        pid_file = world.node.workspace / "sleeper.pid"

        async def pid() -> str:
            return pid_file.read_text().strip() if pid_file.exists() else ""

        sleeper = psutil.Process(int(await eventually(pid)))
        await world.user.ok("POST", f"/sessions/{talk.id}/cancel", {})
        end = await talk.end_of(turn_id)
        assert end["cancelled"] is True

        async def sleeps() -> bool:
            return is_alive(sleeper)

        await eventually(sleeps, lambda alive: not alive)
        assert (await talk.ask("Awake?"))["content"] == "Awake."
