"""The program itself, in a process of its own, killed in the middle of a turn."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.eventually import WAIT_S, eventually
from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.conftest import daemon as daemon
from tests.unit.execution.orchestrator.conftest import model as model
from tests.unit.execution.orchestrator.daemon import ENV, LINE_BYTES_MAX, Daemon
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.orchestrator.graph import create_agent_graph
from trunkline.execution.session import ipc

pytestmark = pytest.mark.slow

PROGRAM = (
    "import sys; from trunkline.execution.session.semigraph_process import main; main(sys.argv[1])"
)


@asynccontextmanager
async def program(daemon: Daemon) -> AsyncIterator[asyncio.subprocess.Process]:
    """A session's process, ready."""
    ends: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    # A socket's path has at most 107 characters, and a test's folder may be deeper than that.
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "s")
        server = await asyncio.start_unix_server(
            lambda reader, writer: ends.put_nowait((reader, writer)), path, limit=LINE_BYTES_MAX
        )
        async with server:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", PROGRAM, path),
                env=ENV | {"PYTHONPATH": os.pathsep.join(sys.path)},
                start_new_session=True,
            )
            try:
                reader, writer = await asyncio.wait_for(ends.get(), 4 * WAIT_S)
                await daemon.serve(reader, writer)
                yield process
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()


async def finished_results(daemon: Daemon) -> list[str]:
    """What another process would find."""
    graph = create_agent_graph(LocalCheckpointer(daemon.home.session("s1")))
    state = await graph.aget_state({"configurable": {"thread_id": "s1"}})
    return [one["content"] for one in state.values["messages"] if one["role"] == "tool"]


@pytest.mark.proves("004-3.3-resumes-a-turn")
async def test_after_a_kill_in_the_middle_the_conversation_goes_on_from_its_last_step(
    daemon: Daemon, model: ModelServer
) -> None:
    early = ToolUse(name="bash", arguments={"command": "echo early"})
    quick = ToolUse(name="bash", arguments={"command": "echo quick"})
    slow = ToolUse(name="bash", arguments={"command": "sleep 600"})
    model.script(
        Turn(text="one"),
        Turn(text="Working.", tool_calls=[early]),
        Turn(tool_calls=[quick, slow]),
        Turn(text="I see."),
    )
    async with program(daemon) as process:
        await daemon.ask("first")
        turn = daemon.say("second")
        await eventually(lambda: finished_results(daemon), lambda found: len(found) == 2)
        process.kill()
        assert await process.wait() == -signal.SIGKILL
    assert daemon.ends(turn) == []
    await daemon.start()
    assert (await daemon.ask("third"))["content"] == "I see."
    told = [one for one in model.requests[3].messages if one["role"] != "system"]
    roles = ["user", "assistant", "user", "assistant", "tool", "assistant", "tool", "tool", "user"]
    assert [one["role"] for one in told] == roles
    early_result, *last = [one["content"].strip() for one in told if one["role"] == "tool"]
    assert early_result == "early"
    assert sum("quick" in one for one in last) == 1
    assert sum("not finished" in one for one in last) == 1


async def test_the_program_ends_with_zero_when_it_is_told_to_stop(daemon: Daemon) -> None:
    async with program(daemon) as process:
        daemon.send(ipc.Stop())
        assert await asyncio.wait_for(process.wait(), WAIT_S) == 0
