"""The fork server and its processes: made fast, kept apart, never left behind."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import structlog.testing

from tests.support import pids
from tests.support.eventually import eventually, until
from tests.unit.execution.conftest import TARGET
from trunkline.execution.errors import StartFailed
from trunkline.execution.process.child import Exit
from trunkline.execution.process.fork_client import ForkedChild, Spawner
from trunkline.execution.session import ipc

pytestmark = pytest.mark.slow  # it starts fork servers

BOUND_S = 30


class Held:
    """A process of the scripted program, held by the other end of its socket."""

    def __init__(self, child: ForkedChild, connection: socket.socket) -> None:
        self.child = child
        self.connection = connection

    async def say(self, message: ipc.Down) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self.connection, ipc.line(message))

    async def do(self, command: str) -> None:
        data = ipc.UserMessageData(message=command, turn_id="t-1")
        await self.say(ipc.UserMessage(data=data))


Hold = Callable[[Spawner], Awaitable[Held]]


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    """Makes a process and talks to it."""
    made: list[Held] = []

    async def spawned(spawner: Spawner) -> Held:
        path = tmp_path / f"{len(made)}.sock"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.setblocking(False)
            listening.bind(str(path))
            listening.listen()
            child = await spawner.spawn(str(path))
            connection, _ = await asyncio.get_running_loop().sock_accept(listening)
        held = Held(child, connection)
        made.append(held)
        await held.say(ipc.Start(session_id="s-1", home=str(tmp_path)))
        return held

    yield spawned
    for held in made:
        held.connection.close()


@pytest.mark.proves("004-1-process-per-session")
async def test_a_process_is_the_fork_servers_child_in_a_session_of_its_own(
    spawner: Spawner, hold: Hold, tmp_path: Path
) -> None:
    async with asyncio.timeout(BOUND_S):
        held = await hold(spawner)
        pid = held.child.pid
        assert pids.below(await spawner.pid()) == {pid}
        assert os.getsid(pid) == os.getpgid(pid) == pid


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("crash 7", Exit(exit_code=7)),
        ("raise oh", Exit(exit_code=1)),
        ("kill", Exit(signal=signal.SIGKILL)),
    ],
)
async def test_the_end_of_a_process_is_told_with_its_status(
    spawner: Spawner, hold: Hold, tmp_path: Path, command: str, end: Exit
) -> None:
    async with asyncio.timeout(BOUND_S):
        held = await hold(spawner)
        await held.do(command)
        assert await held.child.ended == end


async def test_a_process_is_killed_on_request_and_its_neighbour_lives(
    spawner: Spawner, hold: Hold, tmp_path: Path
) -> None:
    async with asyncio.timeout(BOUND_S):
        one, other = [await hold(spawner) for _ in range(2)]
        one.child.kill()
        assert await one.child.ended == Exit(signal=signal.SIGKILL)
        one.child.kill()  # by now the number may be another's: nobody is hit
        assert pids.is_alive(other.child.pid)
        assert not other.child.ended.done()


@pytest.mark.parametrize("command", ["kill", "crash 0"])
async def test_whatever_a_process_leaves_behind_ends_with_it(
    spawner: Spawner, hold: Hold, tmp_path: Path, command: str
) -> None:
    """Also grandchildren in sessions of their own, and those whose parent went first."""
    async with asyncio.timeout(BOUND_S):
        one, other = [await hold(spawner) for _ in range(2)]
        await one.do(f"orphans {tmp_path / 'one'}")
        await other.do(f"orphans {tmp_path / 'other'}")
        left = await pids.pids_in(tmp_path / "one", 3)
        kept = await pids.pids_in(tmp_path / "other", 3)
        await one.do(command)
        await pids.until_gone(one.child.pid, *left)
        assert all(pids.is_alive(pid) for pid in kept)


async def test_everything_ends_with_the_spawner(
    tmp_path: Path, env: dict[str, str], hold: Hold
) -> None:
    async with asyncio.timeout(BOUND_S):
        spawner = Spawner(env, tmp_path, TARGET)
        await spawner.start()
        held = await hold(spawner)
        await held.do(f"orphans {tmp_path / 'left'}")
        left = await pids.pids_in(tmp_path / "left", 3)
        server = await spawner.pid()
        await spawner.close()
        await pids.until_gone(server, held.child.pid, *left)
        assert held.child.ended.done()


async def test_a_fork_server_that_is_killed_takes_its_processes_along_and_comes_back(
    spawner: Spawner, hold: Hold, tmp_path: Path
) -> None:
    async with asyncio.timeout(BOUND_S):
        held = await hold(spawner)
        first = await spawner.pid()
        os.kill(first, signal.SIGKILL)
        assert await held.child.ended == Exit()
        await pids.until_gone(held.child.pid)
        again = await hold(spawner)
        assert pids.is_alive(again.child.pid)
        assert await spawner.pid() != first


async def test_what_looks_after_the_dead_runs_before_the_next_fork_server(
    tmp_path: Path, env: dict[str, str], hold: Hold
) -> None:
    seen: list[str] = []

    async def sweep() -> None:
        seen.append("swept")

    async with asyncio.timeout(BOUND_S):
        spawner = Spawner(env, tmp_path, TARGET, after_death=sweep)
        await spawner.start()
        os.kill(await spawner.pid(), signal.SIGKILL)
        held = await hold(spawner)
        assert await until(lambda: seen) == ["swept"]
        await spawner.close()
        assert held.child.ended.done()


@pytest.mark.parametrize("target", ["tests.support.nothing:main", "tests.support.pids:nothing"])
async def test_a_program_that_cannot_be_loaded_is_a_clear_error(
    tmp_path: Path, env: dict[str, str], target: str
) -> None:
    async with asyncio.timeout(BOUND_S):
        spawner = Spawner(env, tmp_path, target)
        await spawner.start()
        with pytest.raises(StartFailed, match=r"cannot be loaded: .*nothing"):
            await spawner.spawn(str(tmp_path / "s.sock"))
        await spawner.close()


async def test_why_a_program_cannot_be_loaded_is_logged_once_however_often_it_is_tried(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with asyncio.timeout(BOUND_S):
        spawner = Spawner(env, tmp_path, "tests.support.nothing:main")
        with structlog.testing.capture_logs() as logs:
            await spawner.start()
            for _ in range(2):
                with pytest.raises(StartFailed):
                    await spawner.spawn(str(tmp_path / "s.sock"))
            await spawner.close()
    assert [entry["event"] for entry in logs] == ["the fork server did not start"]


async def test_a_folder_that_is_gone_is_a_clear_error(tmp_path: Path, env: dict[str, str]) -> None:
    async with asyncio.timeout(BOUND_S):
        spawner = Spawner(env, tmp_path / "nowhere", TARGET)
        await spawner.start()
        with pytest.raises(StartFailed, match=r"cannot be started: .*nowhere"):
            await spawner.spawn(str(tmp_path / "s.sock"))
        await spawner.close()


@pytest.mark.proves("004-9-keys-in-memory-only")
async def test_processes_get_the_environment_they_are_given_and_no_other(
    spawner: Spawner,
    hold: Hold,
    tmp_path: Path,
    env: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VM_TOKEN", "a-token-of-this-machine")
    async with asyncio.timeout(BOUND_S):
        held = await hold(spawner)
        for pid in (await spawner.pid(), held.child.pid):
            names = {pair.split("=")[0] for pair in pids.environment(pid).split("\0") if pair}
            assert names - {"LC_CTYPE"} == set(env)


async def test_a_module_in_the_working_folder_is_not_imported(
    tmp_path: Path, env: dict[str, str]
) -> None:
    """An agent writes there what it likes."""
    (tmp_path / "msgspec.py").write_text("raise SystemExit('mine')")
    async with asyncio.timeout(BOUND_S):
        spawner = Spawner(env, tmp_path, TARGET)
        await spawner.start()
        assert pids.is_alive(await spawner.pid())
        await spawner.close()


async def test_a_fork_server_that_does_not_answer_is_replaced(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with asyncio.timeout(BOUND_S):
        spawner = Spawner(env, tmp_path, TARGET, answer_s=0.5)
        await spawner.start()
        first = await spawner.pid()
        os.kill(first, signal.SIGSTOP)
        with pytest.raises(StartFailed, match="did not answer in time"):
            await spawner.spawn(str(tmp_path / "s.sock"))
        await pids.until_gone(first)

        async def again() -> bool:
            with suppress(StartFailed):
                return (await spawner.spawn(str(tmp_path / "s.sock"))).pid > 0
            return False

        await eventually(again)
        assert await spawner.pid() != first
        await spawner.close()


async def test_a_fork_server_that_never_gets_ready_is_replaced(
    tmp_path: Path, env: dict[str, str]
) -> None:
    """Its imports wait for something that never comes, the first time."""
    module = tmp_path / "path" / "stuck_program.py"
    module.parent.mkdir()
    module.write_text(
        "import pathlib, threading\n"
        f"seen = pathlib.Path({str(tmp_path / 'seen')!r})\n"
        "if not seen.exists():\n"
        "    seen.touch()\n"
        "    threading.Event().wait()\n"
        "from tests.support.session_program import main\n"
    )
    env["PYTHONPATH"] += f":{module.parent}"
    async with asyncio.timeout(BOUND_S):
        spawner = Spawner(env, tmp_path, "stuck_program:main", ready_s=2.0)
        await spawner.start()

        async def ready() -> int:
            with suppress(StartFailed):
                return await spawner.pid()
            return 0

        assert pids.is_alive(await eventually(ready))
        await spawner.close()
