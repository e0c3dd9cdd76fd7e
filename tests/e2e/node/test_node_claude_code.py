"""Claude Code on a whole machine: its own memory over a restart, its costs, and what Yeaft clients
see of it. What every runtime keeps is in `tests/runtimes`."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import ControlProcess
from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.support.node import Talk, World
from tests.support.yeaft_web import web_of
from tests.unit.execution.runtimes.claude_code.conftest import real_program

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.programs,
    pytest.mark.slow,
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    program = Path(real_program()[0])
    folder = tmp_path_factory.mktemp("claude")
    (folder / "own").mkdir()
    (folder / "bin").mkdir()
    (folder / "bin" / "claude").symlink_to(program)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {"HOME": str(folder / "own"), "PATH": path}
    async with (
        ControlProcess(folder / "data") as control,
        ModelServer() as model,
        World(control, model, folder / "home", env) as world,
    ):
        yield world


async def talk_to(world: World, **agent: Any) -> Talk:
    config = {"model": "claude-sonnet-4-5", **agent}
    return await world.session(agent=config, runtime_type="claude-code")


def bash(command: str) -> Turn:
    return Turn(tool_calls=[ToolUse(name="Bash", arguments={"command": command})])


async def test_the_machine_says_that_it_has_it(world: World) -> None:
    machine = await world.user.ok("GET", f"/machines/{world.node.machine_id}")
    assert "claude-code" in json.dumps(machine)


async def test_a_conversation_goes_on_after_a_restart_of_the_daemon(world: World) -> None:
    world.model.script(Turn(text="Noted"), Turn(text="Seven"))
    async with await talk_to(world) as talk:
        await talk.ask("my number is seven")
        await world.node.stop()
        await world.node.start()
        assert (await talk.ask("my number?"))["content"] == "Seven"
        said = json.dumps(world.model.requests[-1].messages)
        assert "my number is seven" in said
        assert "conversation_so_far" not in said  # its own memory, and not what we told it


async def test_a_person_is_asked_and_the_cost_is_the_turns(world: World) -> None:
    world.model.script(bash("touch made"), Turn(text="Made"))
    async with await talk_to(world, confirm="dangerous") as talk:
        turn = await talk.say("make it")
        question = await talk.until("approval_request")
        assert question["tool_input"] == {"command": "touch made"}
        await talk.answer(question["request_id"], confirmed=True)
        assert (await talk.end_of(turn))["content"] == "Made"
        [usage] = talk.events("usage")
        assert usage["cost_usd"] > 0
        assert (usage["calls"], usage["tokens_out"]) == (2, 14)


@pytest.mark.proves("002-5.1-wrapped-as-it-is")
async def test_yeaft_clients_get_each_line_as_the_program_wrote_it(world: World) -> None:
    world.model.script(bash("echo hi"), Turn(text="Hello world"))
    async with await talk_to(world) as talk, web_of(world.user) as web:
        seen = len(web.received)
        await web.send("send_message", conversationId=talk.id, text="Hi")
        result = await web.result(seen)
        assert (result["subtype"], result["result"]) == ("success", "Hello world")
        lines = [one for one in web.outputs(talk.id, seen) if "uuid" in one]
        raws = [one.get("raw", {}).get("message") for one in talk.events()]
        written = [raw["data"] for raw in raws if raw]
        assert lines == written
        assert {"assistant", "user", "system", "stream_event", "result"} <= {
            one["type"] for one in lines
        }
