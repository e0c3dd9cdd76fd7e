"""Sessions that run out of memory, for real: their readers are told, and nobody else notices."""

import asyncio
import resource
from pathlib import Path

import psutil

from tests.support.memory_group import MemoryGroup, parent_group
from tests.support.model_server import Gate, ModelRequest, ToolUse, Turn
from tests.support.node import Talk, World, is_alive
from tests.support.node_system import WORDS, running_system, streaming
from trunkline import limits
from trunkline.execution.tools.text_files import FILE_BYTES_MAX

BOUND_S = 120
ROOM_BYTES = 8 * limits.MIB
LONG_ANSWER = ["\U0001d54f" * 100_000] * 39
"""Four bytes a character, and as many as a model may say: no free part of a heap is as large."""
READ = ToolUse(name="read_file", arguments={"path": "large.txt"})
"""It takes more than there is room for."""


def is_reading(request: ModelRequest) -> bool:
    return request.prompt == "Read it."


async def about_to(world: World, turn: Turn, gate: Gate) -> tuple[Talk, str, psutil.Process]:
    """A session that will need a lot of memory when the gate opens, and its process."""
    (world.node.workspace / "large.txt").write_bytes(b"x" * (FILE_BYTES_MAX - 1))
    world.model.when(is_reading, turn)
    before = set(world.node.session_processes())
    talk = await (await world.session()).__aenter__()
    turn_id = await talk.say("Read it.")
    await gate.reached.wait()
    [process] = set(world.node.session_processes()) - before
    return talk, turn_id, process


async def test_a_session_that_the_kernel_kills_for_its_memory_is_that_sessions_error_alone(
    tmp_path: Path,
) -> None:
    parent = parent_group()
    async with (
        asyncio.timeout(BOUND_S),
        MemoryGroup(parent, ROOM_BYTES) as group,
        running_system(tmp_path) as (world, _, _),
    ):
        gates = [Gate(), Gate()]
        [(other, kept)] = await streaming(world, gates[:1])
        turn = Turn(chunks=["Reading. ", gates[1]], tool_calls=[READ])
        victim, lost, process = await about_to(world, turn, gates[1])
        group.add(process.pid)
        gates[1].open()
        end = await victim.end_of(lost)
        assert (end["type"], end["code"]) == ("execution_error", "SESSION_OUT_OF_MEMORY")
        assert end["signal"] == "SIGKILL"
        assert "memory" in end["error"]
        assert group.kills == 1
        assert not is_alive(process)
        await others_go_on(world, other, kept, gates[0])
        await goes_on(world, victim, lost)


async def others_go_on(world: World, other: Talk, kept: str, gate: Gate) -> None:
    gate.open()
    assert (await other.end_of(kept))["content"] == "".join(WORDS)
    assert world.node.process.returncode is None
    await other.reader.leave()


async def goes_on(world: World, victim: Talk, lost: str) -> None:
    """With the next message, in a new process."""
    world.model.script(Turn(text="Where were we?"))
    assert (await victim.ask("Go on."))["content"] == "Where were we?"
    assert len(victim.ends(lost)) == 1
    assert victim.text(lost).startswith("Reading. ")
    await victim.reader.leave()


async def test_a_session_that_is_refused_memory_is_that_sessions_error_alone(
    tmp_path: Path,
) -> None:
    """Where the kernel refuses instead of killing: the process may live on, and says so itself."""
    async with asyncio.timeout(BOUND_S), running_system(tmp_path) as (world, _, _):
        gates = [Gate(), Gate()]
        [(other, kept)] = await streaming(world, gates[:1])
        turn = Turn(chunks=["Reading. ", gates[1], *LONG_ANSWER])
        victim, lost, process = await about_to(world, turn, gates[1])
        # Not 0, which Linux takes for no limit.
        _, most = process.rlimit(resource.RLIMIT_DATA)
        process.rlimit(resource.RLIMIT_DATA, (1, most))
        gates[1].open()
        end = await victim.end_of(lost)
        assert end["type"] == "execution_error"
        assert "memory" in end["error"].lower()
        if is_alive(process):
            process.rlimit(resource.RLIMIT_DATA, (most, most))
        await others_go_on(world, other, kept, gates[0])
        await goes_on(world, victim, lost)
