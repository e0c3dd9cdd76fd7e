"""Found open: a daemon that was killed while the local model started left the model's process
behind for ever, with 330 MiB: nobody read that it was ready, and it hung in its library's end.

Proven with the real program around a library that hangs as the real one does, and a real kill -9.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from tests.support import pids
from tests.support.eventually import until
from trunkline.execution.llm.local_server import PROGRAM

pytestmark = pytest.mark.slow

# Says where it is, waits there until it may go on, and never comes back from its end.
LIBRARY = """
import os, time
class _Any:
    def __getattr__(self, name):
        made = _Any(); object.__setattr__(self, name, made); return made
class CommonParams(_Any): pass
class Server:
    listening_address = "http://127.0.0.1:1"
    def __init__(self, params):
        folder = params.model.path
        with open(os.path.join(folder, "loading"), "w") as file: file.write(str(os.getpid()))
        while not os.path.exists(os.path.join(folder, "go")): time.sleep(0.01)
    def __del__(self):
        while True: time.sleep(1)
"""
DAEMON = """
import asyncio, pathlib, sys
from trunkline.execution.llm.local_server import LocalModelServer
async def main():
    server = LocalModelServer(find=lambda: pathlib.Path(sys.argv[1]))
    await server.ensure(lambda text: None)
    (pathlib.Path(sys.argv[1]) / "ready").touch()
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["while it loads", "as it says ready", "while it serves"])
async def test_a_killed_daemon_takes_the_local_model_with_it(tmp_path: Path, moment: str) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "xllamacpp.py").write_text(LIBRARY)
    daemon = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DAEMON, str(tmp_path)),
        env=os.environ | {"PYTHONPATH": str(library)},
        start_new_session=True,
    )
    try:
        [model] = await pids.pids_in(tmp_path / "loading", 1)
        if moment == "while it serves":
            (tmp_path / "go").touch()
            await until((tmp_path / "ready").exists)
        assert pids.is_alive(model)
    finally:
        daemon.kill()
        await daemon.wait()
    if moment == "as it says ready":
        (tmp_path / "go").touch()
    await pids.until_gone(model)


async def test_a_model_that_nobody_hears_leaves_at_once_though_its_library_does_not(
    tmp_path: Path,
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "xllamacpp.py").write_text(LIBRARY)
    heard, said = os.pipe()
    model = await asyncio.create_subprocess_exec(
        *PROGRAM,
        stdin=asyncio.subprocess.PIPE,  # held open: only its last word goes nowhere
        stdout=said,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(library)},
    )
    os.close(said)
    try:
        assert model.stdin is not None
        model.stdin.write(
            json.dumps({"path": str(tmp_path), "model": "m", "api_key": "k"}).encode()
        )
        model.stdin.write(b"\n")
        await until((tmp_path / "loading").exists)
        os.close(heard)
        (tmp_path / "go").touch()
        assert await until(lambda: model.returncode) == 1
    finally:
        if model.returncode is None:
            model.kill()
        await model.wait()
