"""What an agent's day is made of, with every part as a process of its own: a project's own words,
notes that a person edits, commands that go on, a model that keeps people waiting."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from tests.support.control import ControlProcess
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.support.node import Talk, World, children_of, command_of
from trunkline.execution.home import Home

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("everyday")
    async with (
        ControlProcess(folder / "data", rate_limit_per_minute=0) as control,
        ModelServer() as model,
        World(control, model, folder / "home") as world,
    ):
        yield world


def asked(world: World) -> str:
    """All that the model was sent last."""
    return str(world.model.requests[-1].messages)


def started(talk: Talk) -> str:
    [one] = talk.events("tool_call_complete")
    return str(one["details"]["id"])


async def test_what_a_project_says_of_itself_reaches_the_model_nested_ones_when_they_are_met(
    world: World,
) -> None:
    app = world.node.workspace / "app"
    app.mkdir()
    (world.node.workspace / "AGENTS.md").write_text("Always run the linter.")
    (app / "CLAUDE.md").write_text("Here tabs are used.")
    (app / "code.py").write_text("x = 1\n")
    look = ToolUse(name="read_file", arguments={"path": "app/code.py"})
    try:
        world.model.script(Turn(text="Hello."))
        async with await world.session() as talk:
            await talk.ask("Hello?")
            assert "Always run the linter." in asked(world)
            assert "Here tabs are used." not in asked(world)
            world.model.script(Turn(tool_calls=[look]), Turn(text="Read."))
            await talk.ask("Read it.")
            assert "Here tabs are used." in asked(world)
    finally:
        (world.node.workspace / "AGENTS.md").unlink()


async def test_what_a_person_writes_into_the_agents_notes_reaches_the_model(world: World) -> None:
    world.model.script(Turn(text="On Monday, then."), Turn(text="On Friday."))
    async with await world.session() as talk:
        await talk.ask("The meeting is on Monday.")
        memory = Home(world.node.home).session(talk.id) / "memory"
        conversation = memory / "conversation.md"
        text = conversation.read_text()
        assert "The meeting is on Monday." in text
        conversation.write_text(text.replace("meeting is on Monday", "meeting is on Friday"))
        (memory / "scratchpad.md").write_text("Ask Tom about the key.\n")
        await talk.ask("When is it?")
        assert "meeting is on Friday" in asked(world)
        assert "Ask Tom about the key." in asked(world)


async def test_a_command_goes_on_behind_its_turn_is_read_and_stopped(world: World) -> None:
    serve = {"command": "echo up; sleep 985", "background": True}
    world.model.script(
        Turn(tool_calls=[ToolUse(name="bash", arguments=serve)]), Turn(text="It runs.")
    )
    async with await world.session() as talk:
        await talk.ask("Serve it.")
        which = {"id": started(talk)}
        tools = [ToolUse(name=name, arguments=which) for name in ("bash_output", "bash_stop")]
        world.model.script(Turn(tool_calls=tools), Turn(text="Stopped."))
        await talk.ask("How is it?")
        read, stopped = world.model.requests[-1].tool_results
        assert (read.splitlines()[-1], stopped.splitlines()[-1]) == ("[running]", "[stopped]")
        assert f"{read}\n{stopped}".splitlines().count("up") == 1  # whenever it was written
        family = [
            one
            for process in world.node.session_processes()
            for one in children_of(process, recursive=True)
        ]
        assert not any("985" in command_of(one) for one in family)
        await talk.user.ok("DELETE", f"/sessions/{talk.id}")


@pytest.mark.parametrize(
    ("setting", "turn"),
    [
        ("first_byte_timeout_seconds", lambda: Turn(gate=Gate(), text="too late")),
        ("silence_timeout_seconds", lambda: Turn(chunks=["Well", Gate(), "too late"])),
    ],
)
async def test_a_model_that_keeps_people_waiting_ends_the_turn_by_the_setting(
    world: World, setting: str, turn: Callable[[], Turn]
) -> None:
    world.model.otherwise(lambda _: turn())
    async with await world.session(agent={setting: 1}) as talk:
        end = await talk.ask("Well?")
        assert end["type"] == "execution_error"
        assert setting in end["error"]
