"""Found open: a second server started on a data folder in use, took over `server.json`, and both
wrote the same databases.

One server holds the folder; the second says who does, and touches nothing.
"""

import asyncio
import os
from pathlib import Path

from tests.support import warm_start
from tests.support.control import ControlProcess


async def test_a_second_server_is_refused_and_told_who_runs_there(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with ControlProcess(data) as first:
        before = {path: path.stat().st_mtime_ns for path in data.glob("*.json")}
        env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env |= {"TRUNKLINE_DATA": str(data), "TRUNKLINE_PORT": "0"}
        for command in (("control",), ("up", "--no-machine")):
            done = await asyncio.to_thread(warm_start.run, command, env, tmp_path)
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1, done.stderr
            assert f"process {first.process.pid} at {first.url}" in done.stderr
        assert {path: path.stat().st_mtime_ns for path in data.glob("*.json")} == before
        assert await first.ok("GET", "/me")


async def test_a_folder_is_free_again_however_its_server_ended(tmp_path: Path) -> None:
    server = ControlProcess(tmp_path / "data")
    await server.start()
    await server.kill()
    await server.start()
    assert await server.terminate() == 0
    await server.start()
    await server.terminate()
