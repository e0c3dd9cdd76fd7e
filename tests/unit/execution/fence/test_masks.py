"""Mounts of a process's own: what is laid over what, and what a session then has."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from trunkline.execution.fence import probe
from trunkline.execution.fence.access import Access
from trunkline.execution.fence.machine import Fence
from trunkline.execution.fence.masks import Step, steps
from trunkline.execution.fence.profile import Profile
from trunkline.execution.home import Home
from trunkline.execution.session import ipc

FOUND = probe.look()
needs_mounts = pytest.mark.skipif(not FOUND.mounts, reason="no mounts of a session's own here")


def test_only_what_would_not_be_as_it_is_to_be_is_laid_and_folders_come_first() -> None:
    found = steps(
        ["/h/data", "/h/data/s-1/own", "/tmp"],
        written=["/h", "/h/data/s-1", "/h/data-of-mine", "/tmp/work", "/tmp/work/inner", "/w"],
        read=["/usr", "/h/data/s-1/skills", "/h/data/skills", "/tmp/bin"],
        closed=["/h/.ssh", "/elsewhere/.ssh", "/h/data/.ssh"],
    )
    assert list(found) == [
        Step("/h", "written"),
        Step("/h/.ssh", "closed"),
        Step("/h/data", "covered"),
        Step("/h/data/s-1", "written", "/h/data"),
        Step("/h/data/s-1/own", "covered"),
        Step("/h/data/skills", "read", "/h/data"),
        Step("/tmp", "covered"),
        Step("/tmp/bin", "read", "/tmp"),
        Step("/tmp/work", "written", "/tmp"),
        Step("/w", "written"),
    ]


def test_what_is_written_may_be_in_what_is_closed_and_hidden_things_in_hidden_ones_are_one() -> (
    None
):
    found = steps(["/a", "/a/b"], written=["/h", "/h/.ssh/known"], closed=["/h/.ssh"])
    assert [(one.path, one.kind) for one in found] == [
        ("/a", "covered"),
        ("/h", "written"),
        ("/h/.ssh", "closed"),
        ("/h/.ssh/known", "written"),
    ]


OF_A_SESSION = """
import json, os, subprocess, sys
import msgspec
from trunkline.execution.fence import inside
from trunkline.execution.fence.profile import Profile
import asyncio
from trunkline.execution.process.programs import children

children.confined = inside.enter(msgspec.json.decode(sys.argv[1], type=Profile))

async def ran(command):
    process = await children.confined.start(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return process.communicate()[0].decode()

print(json.dumps([os.getcwd(), *(asyncio.run(ran(one)) for one in sys.argv[2:])]))
"""


def ran(allowed: Profile | None, *commands: str, cwd: Path) -> list[str]:
    """Where the process then is, and what each command printed in such a session."""
    assert allowed is not None
    done = subprocess.run(
        [sys.executable, "-c", OF_A_SESSION, msgspec.json.encode(allowed).decode(), *commands],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
    )
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.fixture
def place() -> Iterator[Path]:
    """Not below `/tmp`, where sessions of a machine that lives there have none for themselves."""
    with tempfile.TemporaryDirectory(prefix="trunkline-test-", dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def home(place: Path) -> Home:
    made = Home(place / "home")
    made.make()
    return made


@needs_mounts
def test_who_works_in_the_users_home_writes_there_but_neither_keys_nor_what_is_hidden(
    place: Path, home: Home
) -> None:
    user = place / "user"
    for name in (".ssh", "code", "data"):
        (user / name).mkdir(parents=True)
        (user / name / "file").write_text(name)
    (user / "data" / "file").chmod(0o600)
    fence = Fence(home, "require", FOUND, hidden=[user / "data"], env={"HOME": str(user)})
    allowed = fence.profile(
        ipc.Start(session_id="s-1", home=str(home.root), workspace=str(user), writable=[])
    )
    cwd, wrote, keys, hidden, tools = ran(
        allowed,
        "echo more >> code/file && chmod 700 code/file && cat code/file",
        "chmod 644 .ssh/file; cat .ssh/file",
        "ls -A data; chmod 644 data/file",
        "touch $TMPDIR/x $XDG_CACHE_HOME/x && echo both",
        cwd=user,
    )
    assert (cwd, wrote, tools) == (str(user), "codemore\n", "both\n")
    assert "Read-only file system" in keys
    assert "Permission denied" in keys
    assert "No such file" in hidden
    assert (user / "data" / "file").stat().st_mode & 0o777 == 0o600
    assert (user / "code" / "file").read_text() == "codemore\n"


@needs_mounts
@pytest.mark.parametrize("obstacle", ["nothing", "link", "file"])
def test_a_folder_to_work_in_may_lie_below_tmp_whatever_a_session_has_put_at_its_place(
    tmp_path_factory: pytest.TempPathFactory, home: Home, obstacle: str
) -> None:
    work = Path(tempfile.mkdtemp(prefix="trunkline-test-", dir="/tmp")) / "inner"
    work.mkdir()
    temp = home.session("s-1") / "tmp"
    temp.mkdir(parents=True)
    if obstacle == "link":
        (temp / work.parent.name).symlink_to(home.outbox)
    elif obstacle == "file":
        (temp / work.parent.name).write_text("x")
    fence = Fence(home, "require", FOUND, env={"HOME": str(home.root.parent / "user")})
    start = ipc.Start(session_id="s-1", home=str(home.root), workspace=str(work))
    allowed = fence.profile(start)
    assert allowed is not None
    assert "mounts: its own, with /tmp and /dev/shm; " in allowed.told
    cwd, wrote, listed = ran(allowed, "echo x > made && echo y > /tmp/own", "ls /tmp", cwd=work)
    assert (cwd, wrote) == (str(work), "")
    assert listed == f"own\n{work.parent.name}\n"
    assert (work / "made").read_text() == "x\n"
    assert (temp / "own").read_text() == "y\n"
    assert list(home.outbox.iterdir()) == []
    (work / "made").unlink()
    work.rmdir()
    work.parent.rmdir()


@needs_mounts
def test_a_command_with_more_access_sees_what_was_granted_below_tmp(home: Home) -> None:
    with tempfile.TemporaryDirectory(prefix="trunkline-test-", dir="/tmp") as folder:
        granted = Path(folder) / "file"
        granted.write_text("granted")
        fence = Fence(home, "require", FOUND, env={"HOME": str(home.root.parent / "user")})
        start = ipc.Start(session_id="s-1", home=str(home.root))
        commands = [f"cat {granted}", f"echo x > {granted}; cat {granted}"]
        reads = fence.profile(start, Access(read=[str(granted)]))
        _, read, refused = ran(reads, *commands, cwd=home.workspace)
        assert read == "granted"
        assert "Read-only file system\ngranted" in refused
        writes = fence.profile(start, Access(write=[str(granted)]))
        assert ran(writes, *commands, cwd=home.workspace)[1:] == ["granted", "x\n"]
        whole = fence.profile(start, Access(read=["/tmp"]))
        assert ran(whole, commands[0], cwd=home.workspace)[1:] == ["x\n"]


@needs_mounts
def test_sessions_of_a_machine_that_lives_in_tmp_have_none_for_themselves(tmp_path: Path) -> None:
    """All that lies below a session's own `/tmp` would be open to its commands."""
    with tempfile.TemporaryDirectory(prefix="trunkline-test-", dir="/tmp") as folder:
        home = Home(Path(folder) / "home")
        home.make()
        own = home.session("s-1") / "start.json"
        own.parent.mkdir()
        own.write_text("private")
        fence = Fence(home, "require", FOUND, env={"HOME": str(tmp_path)})
        assert "mounts: its own, with /dev/shm; " in fence.told()["words"]
        allowed = fence.profile(ipc.Start(session_id="s-1", home=str(home.root)))
        assert allowed is not None
        assert "mounts: its own, with /dev/shm; " in allowed.told
        _, said, made = ran(
            allowed, f"cat {own}", "echo x > /tmp/x || echo y > /dev/shm/y", cwd=home.workspace
        )
        assert "Permission denied" in said
        assert "Read-only file system" in made


@needs_mounts
def test_who_works_in_tmp_itself_shares_it(home: Home) -> None:
    fence = Fence(home, "require", FOUND, env={"HOME": str(home.root.parent / "user")})
    start = ipc.Start(session_id="s-1", home=str(home.root), workspace="/tmp")
    allowed = fence.profile(start)
    assert allowed is not None
    assert "mounts: its own, with /dev/shm; " in allowed.told
    name = f"trunkline-test-{os.getpid()}"
    ran(allowed, f"echo x > {name}", cwd=Path("/tmp"))
    assert (Path("/tmp") / name).read_text() == "x\n"
    (Path("/tmp") / name).unlink()


HIDES_ITS_MEMORY = """
import os, sys
from trunkline.execution.fence import masks
from trunkline.execution.process import family

if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
family.hide_memory()
masks.mask(["/etc"], [])
print(os.listdir("/etc"), os.path.exists("/proc/self/environ") and open("/proc/self/status").read())
try:
    open("/proc/self/environ")
except PermissionError:
    print("hidden")
"""


@pytest.mark.skipif(not FOUND.masks, reason="no user namespaces here")
def test_a_user_whose_process_hides_its_memory_can_have_mounts_and_hides_it_still() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HIDES_ITS_MEMORY], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("[] ")
    assert "CapEff:\t0000000000000000" in done.stdout
    assert done.stdout.endswith("hidden\n")


LOOKS = """
import os, sys
from trunkline.execution.fence import probe
from trunkline.execution.process import family

if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
family.show_memory()  # which a change of the user has hidden
shown = probe.look()
family.hide_memory()
print(shown == probe.look(), shown)
"""


def test_a_daemon_that_hides_its_memory_finds_what_any_process_of_its_user_does() -> None:
    done = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True "), done.stdout
