"""What an OpenClaw session has to work with: local MCP servers, and the skills that run here."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support import pids
from tests.support.recording_line import RecordingLine
from tests.unit.execution.mcp import odd_server
from tests.unit.execution.runtimes.openclaw.conftest import Machine
from trunkline.execution.fence import probe
from trunkline.execution.fence.machine import Fence
from trunkline.execution.home import Home
from trunkline.execution.runtimes.openclaw.guard import FENCE
from trunkline.execution.runtimes.openclaw.preparing import prepared
from trunkline.execution.session import ipc

pytestmark = pytest.mark.slow

Json = dict[str, Any]

FOUND = probe.look()
OPEN = {"confirm": "never"}
ODD: Json = {
    "name": "odd",
    "type": "local",
    "command": sys.executable,
    "args": [str(odd_server.__file__)],
    "env": {"ODD_KEY": "sk-for-odd-alone"},
}


async def used(machine: Machine, tool: str, turn_id: str, **given: str) -> str:
    end = await machine.say(f"use mcp__odd__{tool} {json.dumps(given)}", turn_id)
    return str(end["content"])


async def test_a_local_mcp_server_is_used_in_the_workspace_with_its_own_variables(
    machine: Machine,
) -> None:
    await machine.start(agent_config=OPEN, mcp_servers=[ODD])
    assert await used(machine, "echo", "t-1", text="Hello.") == "Hello."
    env = json.loads(await used(machine, "env", "t-2"))
    assert env["ODD_KEY"] == "sk-for-odd-alone"
    assert not {"SOCKET_PATH", FENCE} & set(env)
    assert "ended with 7" in await used(machine, "die", "t-3")
    assert await used(machine, "echo", "t-4", text="Back.") == "Back."
    pid = int(await used(machine, "pid", "t-5"))
    assert Path(f"/proc/{pid}/cwd").resolve() == machine.home.workspace.resolve()
    config = (machine.home.internal / "openclaw").glob("config-*/openclaw.json")
    assert all("sk-for-odd-alone" not in file.read_text() for file in config)


async def test_a_local_mcp_server_asks_before_its_tools_run(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start(agent_config={"confirm": "dangerous"}, mcp_servers=[ODD])
    line.say("s-1", 'use mcp__odd__echo {"text": "Hi."}')
    asked = await line.until("s-1", "approval_request")
    assert (asked["tool_name"], asked["tool_input"]) == ("mcp__odd__echo", {"text": "Hi."})
    answer = {"request_id": asked["request_id"], "confirmed": False, "answer": "not now"}
    line.tell("s-1", "approval_response", **answer)
    assert (await line.end_of("s-1"))["content"] == "not now"


@pytest.mark.parametrize("is_killed", [True, False])
async def test_nothing_of_a_local_mcp_server_outlives_its_session(
    machine: Machine, is_killed: bool
) -> None:
    await machine.start(agent_config=OPEN, mcp_servers=[ODD])
    pid = int(await used(machine, "pid", "t-1"))
    child = int(await used(machine, "child", "t-2"))
    if is_killed:
        os.kill(machine.bridge(), signal.SIGKILL)
    else:
        await machine.manager.stop_session({"session_id": "s-1", "reason": "user_closed"})
    await pids.until_gone(pid, child)


async def test_a_local_mcp_server_that_cannot_be_started_is_said_and_the_turn_goes_on(
    machine: Machine, line: RecordingLine
) -> None:
    await machine.start(agent_config=OPEN, mcp_servers=[{**ODD, "command": "/does/not/exist"}])
    assert "no such tool" in (await machine.say("use mcp__odd__echo {}"))["content"]
    told = "".join(one["content"] for one in line.events("s-1", "thinking"))
    assert "the MCP server odd failed" in told
    assert "/does/not/exist cannot be started" in told


async def test_a_skill_that_lacks_something_here_is_neither_fetched_nor_offered(
    machine: Machine, line: RecordingLine
) -> None:
    asked: list[str] = []

    async def answer(_session: str, _method: str, params: Json) -> Json:
        asked.append(params["skill_id"])
        guide = f"---\nname: {params['skill_id']}\ndescription: x\n---\nDo it.\n"
        return {"package": {"version": "v1", "files": [{"path": "SKILL.md", "content": guide}]}}

    line.answer = answer
    needs = {
        "runs": {"binaries": ["sh", "node"], "env_vars": ["HOME"]},
        "no-program": {"binaries": ["sh", "no-such-program"]},
        "no-variable": {"env_vars": ["NO_SUCH_VARIABLE"]},
    }
    index = [{"id": name, "version": "v1", "requires": one} for name, one in needs.items()]
    await machine.start(skill_index=index)
    assert (await machine.settings())["entry"]["skills"] == ["runs"]
    assert asked == ["runs"]


def test_what_is_left_out_is_said_in_words() -> None:
    index: list[Json] = [{"id": "x", "requires": {"binaries": ["no-such-program"]}}]
    servers: list[Json] = [{"name": "bad", "type": "carrier-pigeon"}]
    start = ipc.Start(session_id="s", home="/h", skill_index=index, mcp_servers=servers)
    told, problems = prepared(start, {"PATH": os.environ["PATH"]})
    assert (told.skill_index, told.mcp_servers) == ([], [])
    assert "The skill x lacks binary:no-such-program." in problems
    assert any("'bad'" in one and "carrier-pigeon" in one for one in problems)


@pytest.mark.skipif(not FOUND.masks or not FOUND.signals, reason="an old kernel, or a container")
async def test_a_local_mcp_server_does_not_see_the_control_planes_data_nor_signals_others(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    home.make()
    data = tmp_path / "data"
    data.mkdir()
    (data / "admin-token").write_text("admin")
    text = f"""
import os
assert os.listdir({str(data)!r}) == []
try:
    os.kill({os.getpid()}, 23)
except PermissionError:
    raise SystemExit(7)
"""
    program = {"name": "x", "command": sys.executable, "args": ["-c", text]}
    start = ipc.Start(
        session_id="s", home=str(home.root), runtime_type="openclaw", mcp_servers=[program]
    )
    fence = Fence(home, "require", FOUND, hidden=[data], env={}).profile(start)
    told, _ = prepared(msgspec.structs.replace(start, fence=fence), {})
    assert await _run(told.mcp_servers[0]) == 7


async def test_what_a_local_mcp_servers_variables_say_to_python_is_for_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit(1)")
    env = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": "/does/not/exist"}
    told = '[ "$PYTHONHOME" = /does/not/exist ] && [ "$PYTHONPATH" != "" ] && exit 7'
    server = {"name": "x", "command": "/bin/sh", "args": ["-c", told], "env": env}
    start = ipc.Start(session_id="s", home=str(tmp_path), mcp_servers=[server])
    prepare, _ = prepared(start, {})
    assert await _run(prepare.mcp_servers[0]) == 7


async def _run(server: Mapping[str, Any]) -> int:
    process = await asyncio.create_subprocess_exec(
        server["command"], *server["args"], env={**os.environ, **server["env"]}
    )
    return await process.wait()
