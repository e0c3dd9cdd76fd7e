"""The TypeScript client as it is published: built, in Node, over a line that breaks."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import Control, TestUser
from tests.support.proxy import CuttableProxy
from tests.support.vm import ScriptedVm
from trunkline.execution.runtimes import programs

PACKAGE = Path(__file__).parents[3] / "clients" / "typescript"
BOUND_S = 60


def node() -> str:
    found = programs.node()
    assert found is not None
    return str(found)


async def said(program: asyncio.subprocess.Process) -> list[Any]:
    assert program.stdout is not None
    line = await program.stdout.readline()
    assert line, "the program ended"
    return list(json.loads(line))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_program_asks_answers_and_follows_over_a_line_that_breaks(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    port = int(control.url.rpartition(":")[2])
    async with asyncio.timeout(BOUND_S), CuttableProxy(port) as proxy:
        address = {"TRUNKLINE_URL": f"http://127.0.0.1:{proxy.port}", "TRUNKLINE_TOKEN": user.token}
        program = await asyncio.create_subprocess_exec(
            node(),
            str(PACKAGE / "test" / "on_a_server.mjs"),
            env={**os.environ, **address},
            stdout=subprocess.PIPE,
        )
        assert await said(program) == ["user", user.id]
        _, session_id = await said(program)
        told = await vm.expect("user_message")
        assert told["data"]["message"] == "Write it."
        assert told["data"]["metadata"]["attachments"][0]["name"] == "notes.txt"
        await vm.event(session_id, type="approval_request", request_id="q-1", tool_name="bash")
        assert (await vm.expect("approval_response"))["data"]["confirmed"] is True
        await vm.text(session_id, "Do")
        proxy.cut()
        await vm.text(session_id, "ne.")
        await vm.event(session_id, type="execution_complete")
        proxy.mend()
        assert await said(program) == ["answer", "Done."]

        await vm.expect("user_message", lambda one: one["data"]["message"] == "Once more.")
        await vm.event(session_id, type="approval_request", request_id="q-2", tool_name="bash")
        assert await said(program) == ["state", "denied"]
        await vm.event(session_id, type="execution_complete", content="then not")
        _, ids = await said(program)
        assert ids == list(range(1, len(ids) + 1))
        assert await said(program) == ["error", ["ApiError", 404, "SESSION_NOT_FOUND"]]
        assert await program.wait() == 0


def test_what_would_be_published_is_the_built_client_and_what_it_is_made_of() -> None:
    npm = Path(node()).parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    command = [node(), str(npm), "pack", "--dry-run", "--json", "--offline"]
    done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=True)
    files = {one["path"] for one in json.loads(done.stdout)[0]["files"]}
    top = {one for one in files if "/" not in one}
    assert top == {"LICENSE", "README.md", "package.json"}
    built = {one.name for one in (PACKAGE / "src").glob("*.ts")}
    assert {one for one in files if one.startswith("src/")} == {f"src/{name}" for name in built}
    wanted = {
        f"dist/{Path(name).stem}{end}" for name in built for end in (".js", ".d.ts", ".js.map")
    }
    assert {one for one in files if one.startswith("dist/")} == wanted
