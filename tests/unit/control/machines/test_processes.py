"""A machine's process: apart from the control plane, and never left behind."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvloop

from tests.support.audit import audited
from tests.support.eventually import eventually
from trunkline import limits
from trunkline.control.errors import Unavailable
from trunkline.control.machines.processes import Child, scrubbed

BOUND_S = 30

# Holds a connection open for as long as it lives: its end is the end of the process.
HOLD = """
import os, signal, socket, sys
held = socket.socket(socket.AF_UNIX)
held.connect(sys.argv[1])
if "stubborn" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "escaping" in sys.argv:
    waits, tells = os.pipe()
    if os.fork():
        os.close(tells)
        os._exit(len(os.read(waits, 1)))
    os.setsid()
    os.close(tells)
if "forking" in sys.argv and os.fork(): os._exit(0)
held.send(b"%d\\n" % os.getpid())
signal.pause()
"""
PARENT = """
import asyncio, os, sys
from pathlib import Path
from trunkline.control.machines.processes import Child
async def main():
    child = await Child.start(sys.argv[1:], os.environ, Path.cwd(), "m-1")
    await child.ended()
asyncio.run(main())
"""


class Held:
    """Where a process that runs HOLD connects, and how its life is seen."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._arrived: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
        self._reader: asyncio.StreamReader | None = None

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._arrived.put_nowait(reader)
        self._writer = writer

    async def pid(self) -> int:
        self._reader = await self._arrived.get()
        return int(await self._reader.readline())

    def hang_up(self) -> None:
        self._writer.close()

    async def end(self) -> None:
        """Returns when the last process that holds the connection is gone."""
        reader = self._reader or await self._arrived.get()
        await reader.read()


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Held]:
    held = Held(tmp_path / "held")
    server = await asyncio.start_unix_server(held.take, held.path)
    yield held
    server.close()
    held.hang_up()


async def start(tmp_path: Path, *command: str, env: dict[str, str] | None = None) -> Child:
    return await Child.start(command, scrubbed(os.environ) | (env or {}), tmp_path / "vm", "m-1")


async def python(tmp_path: Path, code: str, *arguments: object) -> Child:
    return await start(tmp_path, sys.executable, "-c", code, *map(str, arguments))


async def test_a_child_runs_in_a_group_of_its_own(tmp_path: Path, held: Held) -> None:
    async with asyncio.timeout(BOUND_S):
        child = await python(tmp_path, HOLD, held.path)
        pid = await held.pid()
        assert pid == child.pid
        assert os.getpgid(pid) == pid != os.getpgid(0)
        await child.stop()


async def test_stopping_is_a_request_first(tmp_path: Path, held: Held) -> None:
    async with asyncio.timeout(BOUND_S):
        child = await python(tmp_path, HOLD, held.path)
        await held.pid()
        await child.stop()
        assert await child.ended() == "was ended by SIGTERM"


async def test_a_child_that_will_not_stop_is_killed(tmp_path: Path, held: Held) -> None:
    async with asyncio.timeout(BOUND_S):
        child = await python(tmp_path, HOLD, held.path, "stubborn")
        await held.pid()
        await child.stop(grace_s=0.01)
        assert await child.ended() == "was ended by SIGKILL"


async def test_stopping_twice_or_after_the_end_is_harmless(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND_S):
        child = await python(tmp_path, "pass")
        assert await child.ended() == "exited with 0"
        await child.stop()
        await child.stop()


async def test_a_child_that_has_ended_is_signalled_no_more(
    tmp_path: Path,
) -> None:
    async with asyncio.timeout(BOUND_S):
        with audited("os.kill", "os.killpg") as signalled:
            running = await python(tmp_path, "import signal; signal.pause()")
            await running.stop()
            assert running.pid in signalled
        child = await python(tmp_path, "pass")
        await child.ended()
        with audited("os.kill", "os.killpg") as signalled:
            await child.stop()  # by now the number may belong to somebody else's group
            assert signalled == []


async def test_a_process_that_left_the_group_does_not_keep_the_end_waiting(
    tmp_path: Path, held: Held
) -> None:
    async with asyncio.timeout(BOUND_S):
        child = await python(tmp_path, HOLD, held.path, "escaping")
        escaped = await held.pid()
        try:
            await child.stop()
            # Its own end may come before our signal, or just after it.
            assert await child.ended() in ("exited with 0", "was ended by SIGTERM")
            os.kill(escaped, 0)  # it lives, and its output is still the child's pipe
        finally:
            os.kill(escaped, signal.SIGKILL)
        await held.end()


def test_dead_children_leave_no_open_files_behind(tmp_path: Path) -> None:
    """On uvloop, as in production: it does not close a pipe whose other end is gone."""

    async def live_and_die(children: int) -> None:
        for _ in range(children):
            await (await python(tmp_path, "pass")).ended()
            with pytest.raises(Unavailable):
                await Child.start(("x",), {}, tmp_path / "file" / "vm", "m-1")

    async def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def run() -> None:
        await live_and_die(1)
        before = await open_files()
        await live_and_die(5)
        await eventually(open_files, lambda now: now <= before)

    (tmp_path / "file").touch()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


async def test_what_a_child_started_ends_with_it(tmp_path: Path, held: Held) -> None:
    async with asyncio.timeout(BOUND_S):
        child = await python(tmp_path, HOLD, held.path, "forking")
        assert await child.ended() == "exited with 0"
        await held.end()


async def test_a_child_dies_with_a_parent_that_was_killed(tmp_path: Path, held: Held) -> None:
    async with asyncio.timeout(BOUND_S):
        parent = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PARENT, sys.executable, "-c", HOLD, str(held.path)),
            cwd=tmp_path,
        )
        assert await held.pid() != parent.pid
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
        await held.end()


async def test_the_end_says_how_and_shows_the_last_words_without_secrets(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND_S):
        code = "import sys; print('token=hunter2'); sys.exit(7)"
        child = await python(tmp_path, code)
        assert await child.ended() == "exited with 7: token=***"


async def test_output_without_line_ends_is_not_gathered(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND_S):
        child = await python(tmp_path, "import sys; sys.stdout.write('x' * 5_000_000); sys.exit(1)")
        how = await child.ended()
        assert how.startswith("exited with 1: xxx")
        assert len(how) < limits.VM_OUTPUT_LINE_CHARS_MAX


async def test_only_known_names_of_the_environment_are_passed_on(tmp_path: Path) -> None:
    hostile = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "TRUNKLINE_ADMIN_TOKEN": "x",
        "TRUNKLINE_DATABASE_URL": "x",
        "OPENAI_API_KEY": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "LD_PRELOAD": "x",
    }
    assert set(scrubbed(hostile)) == {"PATH", "LC_ALL"}


async def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "vm").write_text("a file")
    with pytest.raises(Unavailable, match="cannot start"):
        await python(tmp_path, "pass")
