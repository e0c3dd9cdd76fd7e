"""A session goes on where it was never before: another machine, an empty home, the same past."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.control import LocalControl
from tests.support.eventually import eventually
from tests.support.model_server import Gate, ModelServer, ToolUse, Turn
from tests.support.node import Node, Talk, World
from trunkline.execution.home import Home

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(
    tmp_path_factory: pytest.TempPathFactory, control: LocalControl
) -> AsyncIterator[World]:
    home = tmp_path_factory.mktemp("move") / "home"
    async with ModelServer() as model, World(control, model, home) as world:
        yield world


async def until_synced(control: LocalControl, talk: Talk, words: str) -> None:
    """The newest state that the control plane has of the session has these words."""

    async def state() -> str:
        return str(await control.core.services.snapshots.latest(talk.id))

    await eventually(state, lambda text: words in text)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def elsewhere(world: World, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Node]:
    """Another machine of the same user."""
    node = await Node(world.user, tmp_path_factory.mktemp("elsewhere") / "home").start()
    yield node
    assert await node.stop() == 0


async def move(talk: Talk, node: Node) -> None:
    assert not Home(node.home).session(talk.id).exists()
    session = await talk.user.ok("PATCH", f"/sessions/{talk.id}", {"machine_id": node.machine_id})
    assert session["machine_id"] == node.machine_id


async def test_a_session_leaves_a_machine_that_is_in_the_middle_of_a_turn(
    world: World, control: LocalControl, elsewhere: Node
) -> None:
    gate = Gate()
    world.model.script(Turn(text="Noted: seven."), Turn(chunks=["Let me ", gate, "see."]))
    async with await world.session() as talk:
        await talk.ask("Remember seven.")
        await until_synced(control, talk, "Noted: seven.")
        turn_id = await talk.say("Think about it.")
        await talk.reader.until(lambda _: bool(talk.text(turn_id)), "the first words")
        await move(talk, elsewhere)
        end = await talk.end_of(turn_id)
        assert (end["type"], end["code"]) == ("execution_error", "SESSION_MOVED")
        # The machine that it has left ends the process, and keeps what it had.
        processes = world.node.session_processes

        async def running_there() -> int:
            return await asyncio.to_thread(lambda: len(processes()))

        await eventually(running_there, lambda count: count == 0)
        gate.open()
        world.model.script(Turn(text="Seven."))
        assert (await talk.ask("Which number?"))["content"] == "Seven."
        assert [one["type"] for one in talk.of(turn_id)].count("execution_error") == 1
        assert talk.text(turn_id).startswith("Let me")
    asked = world.model.requests[-1]
    assert asked.prompt == "Which number?"
    assert "Remember seven." in str(asked.messages)
    assert Home(world.node.home).session(talk.id).is_dir()


async def test_a_session_goes_on_on_a_new_machine_after_the_end_of_its_first(
    world: World, control: LocalControl, elsewhere: Node
) -> None:
    world.node.workspace.joinpath("notes.txt").write_text("remember the milk")
    world.model.script(
        Turn(tool_calls=[ToolUse(name="bash", arguments={"command": "cat notes.txt"})]),
        Turn(text="You wanted milk."),
    )
    async with await world.session() as talk:
        assert (await talk.ask("What was it? I am Ada."))["content"] == "You wanted milk."
        await until_synced(control, talk, "You wanted milk.")
        assert await world.node.stop() == 0
        await move(talk, elsewhere)
        world.model.script(Turn(text="You are Ada."))
        assert (await talk.ask("Who am I?"))["content"] == "You are Ada."
    asked = world.model.requests[-1]
    assert asked.prompt == "Who am I?"
    seen = str(asked.messages)
    assert "What was it? I am Ada." in seen
    assert "You wanted milk." in seen
    # A tool's result is in no history that the control plane sends: it came with the state.
    assert "remember the milk" in seen
