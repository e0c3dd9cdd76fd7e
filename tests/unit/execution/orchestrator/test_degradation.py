"""What is slow or broken around a session: it is told, and the turn goes on."""

import asyncio

import pytest

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import Daemon


@pytest.mark.proves("004-7.1-search-failed")
async def test_a_control_plane_that_never_answers_does_not_hold_a_turn_for_long(
    daemon: Daemon, model: ModelServer
) -> None:
    daemon.answers["memory_search"] = lambda _: asyncio.Event().wait()
    model.script(Turn(text="ok"))
    await daemon.start()
    assert (await daemon.ask("hi"))["content"] == "ok"


async def test_a_tool_server_that_does_not_come_up_is_told_to_readers(
    daemon: Daemon, model: ModelServer
) -> None:
    broken = {"name": "broken", "type": "local", "command": "false", "args": []}
    model.script(Turn(text="ok"))
    await daemon.start(mcp_servers=[broken])
    assert (await daemon.ask("hi"))["content"] == "ok"
    assert daemon.ready is not None
    told = daemon.ready.problems + [
        problem for one in daemon.of_type("session_status") for problem in one["problems"]
    ]
    assert len([one for one in told if "broken" in one]) == 1


async def test_memory_that_cannot_be_written_does_not_end_a_turn(
    daemon: Daemon, model: ModelServer
) -> None:
    call = ToolUse(name="bash", arguments={"command": "echo fine"})
    model.script(Turn(text="one"), Turn(tool_calls=[call]), Turn(text="two"))
    await daemon.start()
    await daemon.ask("hi")
    memory = daemon.home.session("s1") / "memory"
    for file in memory.iterdir():
        file.unlink()
    memory.rmdir()
    memory.write_text("a file where a folder should be")
    assert (await daemon.ask("again"))["content"] == "two"
