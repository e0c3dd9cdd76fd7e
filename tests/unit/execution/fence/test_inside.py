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


OF_A_PROGRAM = """
import ctypes, json, os, subprocess, sys
from pathlib import Path
import msgspec
from trunkline.execution.fence import inside
from trunkline.execution.fence.profile import Profile

place = Path(sys.argv[2])
inside.enter(msgspec.json.decode(sys.argv[1], type=Profile))
token, other = place / "data" / "admin-token", place / "home/.semibot/sessions/s-2/said"
shown = f"cat {token} {other} {place}/data/*"
umount = f"umount {place}/data; {shown}"
nested = f"unshare -Umr sh -c '{umount}'"
(place / "home/.semibot/sessions/s-1/state").write_text("kept")
(place / "elsewhere").write_text("as its maker decided")

def ran(command):
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout

print(json.dumps({
    "shown": ran(shown), "unmasked": ran(umount), "nested": ran(nested),
    "listed": ran(f"ls {place}/data {place}/home/.semibot/sessions"),
    "program": ran(f"cat {place}/home/.semibot/programs/one"),
    "user": ran("id -u"), "capabilities": ran("grep CapEff /proc/self/status"),
    "signal": ran(f"kill -URG {os.getppid()} && echo sent"),
}))
"""


@pytest.mark.skipif(not FOUND.masks, reason="no user namespaces here")
def test_a_program_of_others_does_not_see_other_sessions_nor_the_control_planes_data(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    home.make()
    for session_id in ("s-1", "s-2"):
        home.session(session_id).mkdir()
        (home.session(session_id) / "said").write_text("what was said")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "admin-token").write_text("admin")
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "one").write_text("a program")
    home.programs.symlink_to(tmp_path / "programs")
    fence = Fence(home, "require", FOUND, hidden=[tmp_path / "data", home.outbox], env={})
    start = ipc.Start(session_id="s-1", home=str(home.root), runtime_type="claude-code")
    allowed = fence.profile(start)
    assert isinstance(allowed, Profile)
    assert "all but other sessions and the control plane's data" in allowed.told
    done = subprocess.run(
        [sys.executable, "-c", OF_A_PROGRAM, msgspec.json.encode(allowed).decode(), tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert (found["shown"], found["unmasked"], found["nested"]) == ("", "", "")
    listed = f"{tmp_path}/data:\n\n{home.sessions}:\ns-1\n"
    assert (found["listed"], found["user"]) == (listed, f"{os.geteuid()}\n")
    assert found["program"] == "a program"
    assert int(found["capabilities"].split()[1], 16) & (1 << 21) == 0  # CAP_SYS_ADMIN
    assert found["signal"] == ("" if FOUND.signals else "sent\n")
    assert (home.session("s-1") / "state").read_text() == "kept"
    assert (tmp_path / "elsewhere").read_text() == "as its maker decided"
    assert (tmp_path / "data" / "admin-token").read_text() == "admin"


@pytest.mark.parametrize("version", [1, 5])
def test_a_program_of_others_runs_on_a_kernel_that_knows_no_signals(
    tmp_path: Path, version: int
) -> None:
    allowed = Profile(mode="require", kind="program", landlock_abi=version)
    program = (
        "import sys, msgspec; from trunkline.execution.fence import inside, profile;"
        "inside.enter(msgspec.json.decode(sys.argv[1], type=profile.Profile)); print('runs')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, msgspec.json.encode(allowed).decode()],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "runs\n"
