"""The fence, tried from inside: a command of a real session, and every way out that we know."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from tests.support import escape_targets, escapes, escaping, mount_escapes, network_escapes
from tests.support.eventually import until
from tests.support.recording_line import RecordingLine
from tests.support.refusals import NOT_COVERED, refused_where
from trunkline.execution.fence import probe, words
from trunkline.execution.fence.access import Access
from trunkline.execution.fence.groups import Groups
from trunkline.execution.fence.machine import Fence
from trunkline.execution.fence.profile import SHARED_MEMORY_BYTES_MAX, TASKS_MAX, Profile
from trunkline.execution.home import Home
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process import Patience, SessionProcess
from trunkline.execution.session.semigraph_adapter import SemiGraphAdapter

FOUND = probe.look()
OLD = msgspec.structs.replace(probe.look(abi_max=2), mounts=False)
"""As on Debian 12 in a container: no word about signals and the sizes of files, no namespaces."""


REFUSED = [
    (session_id, name)
    for session_id, found in (("s-1", FOUND), ("s-old", OLD))
    for name, can in refused_where(found).items()
    if can
]
SESSIONS: dict[str, dict[str, object]] = {
    "s-1": {},
    "s-few": {},
    "s-bomb": {},
    "s-off": {"network": "off"},
    "s-list": {"network": "list", "network_hosts": ["127.0.0.1"]},
    "s-old": {"network": "list", "network_hosts": ["127.0.0.1"]},
}
LISTED = ("s-list", "s-old")
TASKS = 200
"""Of s-bomb, so that filling it takes a moment."""
GROUPS = Groups.below_ours()

pytestmark = pytest.mark.skipif(not FOUND.files, reason=words.told(FOUND, "auto"))


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Not below `/tmp`: sessions of a machine that lives there have none for themselves."""
    with tempfile.TemporaryDirectory(prefix="trunkline-test-", dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def victim(place: Path) -> Iterator[subprocess.Popen[bytes]]:
    env = {"SECRET": "sk-of-somebody-else", "PATH": os.environ["PATH"]}
    with (place / "open").open("wb") as file:
        file.write(b"x")
    with (
        (place / "open").open("rb") as opened,
        subprocess.Popen(["sleep", "600"], env=env, cwd=place, stdin=opened) as process,
    ):
        yield process
        process.kill()


@pytest.fixture(scope="module")
def targets(place: Path, victim: subprocess.Popen[bytes]) -> Iterator[dict[str, str]]:
    with escape_targets.made(place, victim.pid) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def manager(
    place: Path, targets: dict[str, str], line: RecordingLine
) -> AsyncIterator[SessionManager]:
    home = Home(place / "home")
    env = {"PATH": os.environ["PATH"], "HOME": targets["home"]}
    spawner = Spawner(env, home.workspace)
    await spawner.start()
    sockets = SocketFolder(home.run)
    semigraph = partial(SemiGraphAdapter, spawner.spawn, sockets, Patience(ready_s=60.0))
    fence = Fence(home, "require", FOUND, hidden=[place / "data"], groups=GROUPS, env=env)

    def profile(start: ipc.Start, access: Access | None = None) -> Profile | None:
        made = fence.profile(start, access)
        assert made is not None
        changes: dict[str, dict[str, object]] = {
            "s-few": {"processes": 4},
            "s-bomb": {"tasks": TASKS},
            "s-old": {"landlock_abi": OLD.landlock_abi, "mounts": None},
        }
        if start.session_id == "s-bomb" and made.group:
            (Path(made.group) / "pids.max").write_text(str(TASKS))
        return msgspec.structs.replace(made, **changes.get(start.session_id, {}))

    made = SessionManager(
        line,
        home,
        {"semigraph": semigraph},
        sessions_max=len(SESSIONS),
        clock=time.time,
        fence=profile,
    )
    await fence.proxy.open()
    for session_id, config in SESSIONS.items():
        agent = {"model": "demo"}
        await made.start_session(
            {"session_id": session_id, "agent_config": agent, "session_config": config}
        )
    yield made
    await made.close()
    await fence.proxy.close()
    await spawner.close()
    sockets.close()
    if GROUPS is not None:
        GROUPS.sweep(is_over=True)
        assert not list(GROUPS.folder.glob(f"trunkline-{os.getpid()}-*"))


@pytest.fixture(scope="module")
def line() -> RecordingLine:
    async def answer(_session: str, _method: str, _params: object) -> dict[str, object]:
        return {}

    made = RecordingLine()
    made.answer = answer
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def outcomes(
    place: Path, targets: dict[str, str], manager: SessionManager, line: RecordingLine
) -> dict[str, dict[str, str]]:
    """By session, what came of each attempt."""
    workspace = place / "home" / "workspace"
    found = {}
    for session_id in ("s-1", "s-old"):
        adapter = manager.active_sessions[session_id].adapter
        assert isinstance(adapter, SessionProcess)
        own = Home(place / "home").session(session_id) / "start.json"
        group = str(place / "data" / "no-group")
        if GROUPS is not None:
            group = GROUPS.of(session_id, tasks_max=TASKS_MAX, memory_bytes=0)
        told = {**targets, "session": str(adapter.pid), "own_file": str(own), "group": group}
        folder = workspace / f"of-{session_id}"
        folder.mkdir()
        program = folder / "tests" / "support"
        program.mkdir(parents=True)
        for package in (program.parent, program):
            (package / "__init__.py").touch()
        for module in (escaping, escapes, mount_escapes):
            shutil.copy(str(module.__file__), program)
        (folder / "targets.json").write_text(json.dumps(told))
        command = f"cd {folder.name} && {sys.executable} -m tests.support.escapes targets.json"
        printed = await ran(line, command, session_id)
        found[session_id] = dict(json.loads(printed))
    return found


async def ran(line: RecordingLine, command: str, session_id: str = "s-1") -> str:
    """What a command of the session printed."""
    number = len(line.events(session_id, "tool_call_complete")) + 1
    line.say(session_id, f"run {command}", turn_id=f"t-{number}")
    done = await line.until(session_id, "tool_call_complete", number)
    await line.until(session_id, "execution_complete", number)
    return str(done.get("result") or done.get("error"))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("session_id", "name"), REFUSED)
async def test_a_way_out_is_closed(
    session_id: str, name: str, outcomes: dict[str, dict[str, str]]
) -> None:
    """Where it has mounts of its own, what is hidden is not even there."""
    is_hidden = FOUND.mounts and session_id == "s-1" and outcomes[session_id][name] == "not there"
    assert is_hidden or outcomes[session_id][name] == "refused"


@pytest.mark.asyncio(loop_scope="module")
async def test_what_an_older_kernel_cannot_close_is_said_in_words(
    outcomes: dict[str, dict[str, str]],
) -> None:
    opened = {name for name, can in refused_where(OLD).items() if not can}
    assert opened == {
        *("signal_another_process", "signal_the_session", "signal_the_daemon_by_pidfd"),
        *("change_the_mode_of_a_file", "change_the_mode_of_a_file_that_is_not_hidden"),
        *("change_the_times_of_a_file_that_is_not_hidden", "see_that_a_file_is_there"),
        "attach_shared_memory_of_another_program",
    }
    assert {name for name in opened if outcomes["s-old"][name].startswith("gained")} == opened
    told = words.told(OLD, "auto")
    assert "files: kernel; mounts: no (this system allows none); signals: no (old kernel)" in told


@pytest.mark.asyncio(loop_scope="module")
async def test_what_cannot_be_closed_is_known_and_told(
    outcomes: dict[str, dict[str, str]],
) -> None:
    """Whoever closes one of these takes it out of the guide."""
    assert set(escaping.ESCAPES) == set(refused_where(FOUND)) | NOT_COVERED
    gained = {name for name in NOT_COVERED if outcomes["s-1"][name].startswith("gained")}
    assert gained == NOT_COVERED
    guide = (Path(__file__).parents[4] / "docs" / "guide" / "fence.md").read_text()
    for sentence in (*words.NOT_COVERED, *words.NOT_COVERED_WITHOUT_MOUNTS):
        assert sentence in guide


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
async def test_a_command_works_as_ever_inside(line: RecordingLine) -> None:
    done = await ran(line, 'mktemp && echo x > made && cat made && git --version && echo "$TMPDIR"')
    assert "x\ngit version" in done
    assert done.count("/.semibot/sessions/s-1/tmp") == 2


POOL = "import concurrent.futures as c; print(sum(c.ProcessPoolExecutor(2).map(abs, range(-9, 1))))"
SIZE = "import os; found = os.statvfs('/dev/shm'); print(found.f_blocks * found.f_frsize)"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
@pytest.mark.skipif(not FOUND.mounts, reason="no mounts of a session's own here")
async def test_a_process_pool_works_in_a_command(line: RecordingLine) -> None:
    for session_id in ("s-1", "s-list"):
        assert await ran(line, f'{sys.executable} -c "{POOL}"', session_id) == "45"
    size = await ran(line, f'{sys.executable} -c "{SIZE}"')
    assert size == str(SHARED_MEMORY_BYTES_MAX)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
@pytest.mark.skipif(not FOUND.mounts, reason="no mounts of a session's own here")
async def test_a_session_has_a_temporary_folder_that_is_nobody_elses(
    place: Path, targets: dict[str, str], line: RecordingLine
) -> None:
    made = await ran(line, "file=$(mktemp -p /tmp) && echo private > $file && echo $file")
    assert made.startswith("/tmp/tmp.")
    assert await ran(line, f"cat {made} $TMPDIR/{Path(made).name}") == "private\nprivate"
    for session_id in ("s-few", "s-old"):
        assert "No such file" in await ran(line, f"cat {made}", session_id)
    assert not Path(made).exists()
    told = await ran(line, f"cat {targets['common_file']}")
    assert "No such file" in told
    assert "/tmp and /dev/shm of this session's own" in told


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
async def test_the_sessions_own_tools_write_its_workspace(place: Path, line: RecordingLine) -> None:
    number = len(line.events("s-1", "execution_complete")) + 1
    line.say("s-1", "write by-tool.txt: hello", turn_id="t-write")
    await line.until("s-1", "execution_complete", number)
    assert (place / "home" / "workspace" / "by-tool.txt").read_text() == "hello"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
async def test_a_command_reads_what_people_sent_and_does_not_change_it(
    place: Path, line: RecordingLine
) -> None:
    sent = Home(place / "home").session("s-1") / "attachments" / "a.txt"
    sent.write_text("what was sent")
    assert "what was sent" in await ran(line, f"cat {sent}")
    assert "Permission denied" in await ran(line, f"echo x >> {sent}")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
async def test_a_command_that_is_refused_something_is_told_of_the_fence(
    line: RecordingLine,
) -> None:
    done = await ran(line, "ls /root /tmp")
    assert "the fence around this session may have refused it" in done
    assert "fence" not in await ran(line, "ls /not-there")


CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('reached')"
FETCH = "import urllib.request as u; print(u.urlopen('http://{host}:{port}/', timeout=5).read())"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
@pytest.mark.skipif(not FOUND.connects, reason="an old kernel")
async def test_commands_reach_the_network_that_their_session_has(line: RecordingLine) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nanswered")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    direct = f'{sys.executable} -c "{CONNECT.format(port=port)}"'
    assert "reached" in await ran(line, direct)
    by_proxy = f'{sys.executable} -c "{FETCH.format(host="127.0.0.1", port=port)}"'
    other = f'{sys.executable} -c "{FETCH.format(host="localhost", port=port)}"'
    for session_id in LISTED:
        assert "Permission denied" in await ran(line, direct, session_id)
        assert "answered" in await ran(line, by_proxy, session_id)
        assert "403" in await ran(line, other, session_id)
    assert "not permitted" in await ran(line, direct, "s-off")
    server.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ways_elsewhere(
    place: Path, manager: SessionManager, line: RecordingLine
) -> AsyncIterator[dict[str, dict[str, str]]]:
    """By session, what came of each way to a server beside the proxy, on its port."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"reached")
        writer.close()

    adapter = manager.active_sessions["s-list"].adapter
    assert isinstance(adapter, SessionProcess)
    proxy = await ran(line, "echo $HTTPS_PROXY", "s-list")
    port = proxy.strip().rpartition(":")[2]
    server = await asyncio.start_server(serve, network_escapes.ELSEWHERE, int(port))
    shutil.copy(network_escapes.__file__, place / "home" / "workspace" / "network_escapes.py")
    command = f"{sys.executable} network_escapes.py {port}"
    yield {one: dict(json.loads(await ran(line, command, one))) for one in LISTED}
    server.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.skipif(not FOUND.connects, reason="an old kernel")
@pytest.mark.parametrize("session_id", LISTED)
@pytest.mark.parametrize("name", network_escapes.ESCAPES)
async def test_a_list_of_hosts_leads_to_the_proxy_and_nowhere_else(
    session_id: str, name: str, ways_elsewhere: dict[str, dict[str, str]]
) -> None:
    assert ways_elsewhere[session_id][name] == "refused"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
async def test_a_command_with_too_many_processes_is_ended_with_those_that_left_it(
    place: Path, line: RecordingLine
) -> None:
    one = "setsid sh -c 'echo $$ >> many; exec sleep 600' &"
    assert "more than 4 processes at once" in await ran(line, f"{one * 6} sleep 600", "s-few")
    pids = (place / "home" / "workspace" / "many").read_text().split()
    assert len(pids) == 6
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.usefixtures("manager")
@pytest.mark.skipif(GROUPS is None, reason="no control group was given to this user")
async def test_a_fork_bomb_comes_to_the_kernels_bound_and_its_session_lives_on(
    line: RecordingLine,
) -> None:
    group = (await ran(line, "grep -m1 -o 'trunkline-[0-9-]*' /proc/self/cgroup", "s-bomb")).strip()
    bomb = "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 600"
    assert f"ended: {TASKS} processes and threads" in await ran(line, bomb, "s-bomb")
    assert await ran(line, "echo alive", "s-bomb") == "alive"
    threads = (
        f"import threading as t; e=t.Event(); n=0\ntry:\n while n < {2 * TASKS}:"
        "\n  t.Thread(target=e.wait, daemon=True).start(); n += 1"
        "\nexcept RuntimeError: print('refused', flush=True); import os; os._exit(0)"
    )
    assert GROUPS is not None
    told = GROUPS.folder / group / "pids.events"
    before = told.read_text()
    assert "refused" in await ran(line, f'{sys.executable} -c "{threads}"', "s-bomb")
    assert told.read_text() != before


@pytest.mark.asyncio(loop_scope="module")
async def test_what_a_command_leaves_behind_ends_with_its_session(
    place: Path, manager: SessionManager, line: RecordingLine
) -> None:
    left = place / "home" / "workspace" / "left"
    orphan = "import os,time; open('left','w').write(str(os.getpid())); time.sleep(600)"
    await ran(
        line, f'setsid {sys.executable} -c "{orphan}" & until [ -s left ]; do :; done', "s-off"
    )
    pid = int(left.read_text())
    await manager.stop_session({"session_id": "s-off", "reason": "timeout"})
    await until(lambda: not Path(f"/proc/{pid}").exists())
