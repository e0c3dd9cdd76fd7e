"""A process that is fenced in: what its threads may do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from trunkline.execution.fence import probe
from trunkline.execution.fence.machine import Fence
from trunkline.execution.fence.profile import Profile
from trunkline.execution.home import Home
from trunkline.execution.session import ipc

FOUND = probe.look()
pytestmark = pytest.mark.skipif(not FOUND.files, reason="no fence here")

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
import msgspec
from trunkline.execution.fence import inside
from trunkline.execution.fence.profile import Profile
from trunkline.execution.process.programs import children

allowed = msgspec.json.decode(sys.argv[1], type=Profile)
children.confined = inside.enter(allowed)

def tried(work, *arguments):
    try:
        return asyncio.run(work(*arguments))
    except OSError as error:
        return type(error).__name__

def text(path): return Path(path).read_text()

print(json.dumps({
    "itself": tried(asyncio.to_thread, text, sys.argv[2]),
    "for a tool": tried(children.call, text, sys.argv[2]),
    "of the workspace": tried(children.call, text, sys.argv[3]),
}))
"""


def test_file_tools_have_no_more_files_than_commands(tmp_path: Path) -> None:
    """However a path was judged: by the time that it is opened, a link may lead elsewhere."""
    home = Home(tmp_path / "home")
    home.make()
    own = home.session("s-1") / "start.json"
    own.parent.mkdir(parents=True)
    own.write_text("private")
    link = home.workspace / "link"
    link.symlink_to(own)
    plain = home.workspace / "plain"
    plain.write_text("common")
    env = {"HOME": str(tmp_path / "user"), "PATH": os.environ["PATH"]}
    fence = Fence(home, "require", FOUND, env=env)
    allowed = fence.profile(ipc.Start(session_id="s-1", home=str(home.root)))
    assert isinstance(allowed, Profile)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, msgspec.json.encode(allowed).decode(), link, plain],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {
        "itself": "private",
        "for a tool": "PermissionError",
        "of the workspace": "common",
    }
