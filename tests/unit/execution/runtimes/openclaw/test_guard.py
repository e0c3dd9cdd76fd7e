"""The process between daemon and gateway: nothing that the gateway started outlives it."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support import pids
from trunkline.execution.fence import probe
from trunkline.execution.fence.machine import Fence
from trunkline.execution.home import Home
from trunkline.execution.runtimes.openclaw.gateway_process import GUARD
from trunkline.execution.runtimes.openclaw.guard import FENCE

pytestmark = pytest.mark.slow

FOUND = probe.look()
LEAVES_ONE = """
import subprocess, sys, time
left = subprocess.Popen(["sleep", "987"], start_new_session=True)
open(sys.argv[1], "w").write(f"{left.pid}")
"""


async def guarded(text: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *GUARD, sys.executable, "-c", text, *arguments, stdin=asyncio.subprocess.PIPE
    )


async def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "left.pid"
    guard = await guarded(LEAVES_ONE, str(file))
    assert await guard.wait() == 0
    [left] = await pids.pids_in(file, 1)
    await pids.until_gone(left)


@pytest.mark.parametrize("deaf", [False, True])
async def test_the_end_of_its_input_is_the_end_of_all(tmp_path: Path, deaf: bool) -> None:
    file = tmp_path / "left.pid"
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" if deaf else ""
    guard = await guarded(f"{ignore}\n{LEAVES_ONE}\ntime.sleep(987)", str(file))
    [left] = await pids.pids_in(file, 1)
    assert guard.stdin is not None
    guard.stdin.close()
    ended_by = signal.SIGKILL if deaf else signal.SIGTERM
    assert await guard.wait() == 128 + ended_by
    await pids.until_gone(left)


async def test_a_program_does_not_outlive_a_guard_that_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "own.pid"
    text = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(987)"
    guard = await guarded(text, str(file))
    [program] = await pids.pids_in(file, 1)
    guard.kill()
    await guard.wait()
    await pids.until_gone(program)


async def test_its_exit_code_is_the_programs() -> None:
    assert await (await guarded("import sys; sys.exit(7)")).wait() == 7


async def test_a_program_that_is_not_there_is_said() -> None:
    guard = await asyncio.create_subprocess_exec(
        *GUARD,
        "/nowhere/at-all",
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await guard.communicate()
    assert guard.returncode == 127
    assert b"cannot be started" in said


@pytest.mark.skipif(not FOUND.masks or not FOUND.signals, reason="an old kernel, or a container")
async def test_the_gateway_signals_nobody_else_and_does_not_see_the_control_planes_data(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    home.make()
    data = tmp_path / "data"
    data.mkdir()
    (data / "admin-token").write_text("admin")
    profile = Fence(home, "require", FOUND, hidden=[data], env={}).of_gateway()
    assert profile is not None
    text = f"""
import os, signal
assert {FENCE!r} not in os.environ
assert os.listdir({str(data)!r}) == []
open({str(home.internal / "state")!r}, "w").write("kept")
try:
    os.kill({os.getpid()}, signal.SIGURG)
except PermissionError:
    raise SystemExit(7)
"""
    guard = await asyncio.create_subprocess_exec(
        *GUARD,
        *(sys.executable, "-c", text),
        stdin=asyncio.subprocess.PIPE,
        env={**os.environ, FENCE: msgspec.json.encode(profile).decode()},
    )
    assert await guard.wait() == 7
    assert (home.internal / "state").read_text() == "kept"
