"""One session's process: ready or not, alive or hung, and how its end is told."""

import asyncio
import os
import signal
import socket
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support import pids
from tests.support.eventually import eventually, until
from tests.unit.execution.session.conftest import PATIENCE
from trunkline import limits
from trunkline.execution.errors import StartFailed
from trunkline.execution.process.child import Failure, Launch
from trunkline.execution.process.fork_client import ForkedChild, Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.process import Patience, SessionProcess

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOUND_S = 30


class Watched(SessionProcess):
    """A process with everything that it said."""

    def __init__(self, launch: Launch, sockets: SocketFolder, patience: Patience) -> None:
        self.said: list[ipc.Up] = []
        self.failures: list[Failure] = []
        super().__init__(
            launch, sockets, patience, sockets.path, self.said.append, self.failures.append
        )

    def do(self, command: str) -> None:
        self.send(ipc.UserMessage(data=ipc.UserMessageData(message=command, turn_id="t-1")))

    async def failure(self) -> Failure:
        [found] = await until(lambda: self.failures)
        assert not self.alive
        return found


Make = Callable[..., Watched]


@pytest_asyncio.fixture(loop_scope="module")
async def make(spawner: Spawner, sockets: SocketFolder) -> AsyncIterator[Make]:
    made: list[Watched] = []

    def process(**patience: Any) -> Watched:
        given = Patience(**patience) if patience else PATIENCE
        made.append(Watched(spawner.spawn, sockets, given))
        return made[-1]

    yield process
    for one in made:
        one.kill()


def config(**agent_config: Any) -> ipc.Start:
    return ipc.Start(session_id="s-1", home="/nowhere", agent_config=agent_config)


@pytest.mark.proves("004-4.5-ready-first")
async def test_a_process_is_ready_takes_messages_and_stops_when_told(make: Make) -> None:
    process = make()
    assert await process.start(config()) == ipc.Ready()
    assert process.alive
    process.do("hello")
    await process.stop("test")
    assert [m.data for m in process.said if isinstance(m, ipc.SseEvent)] == [
        '{"type": "text_chunk", "content": "hello", "turn_id": "t-1"}',
        '{"type": "execution_complete", "content": "hello", "turn_id": "t-1"}',
        '{"type": "stopped", "reason": "test"}',
    ]
    assert (await process.failure()).exit_code == 0


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("crash", "ended with exit code 9"),
        ("refuse", "no room for me"),
        ("silent", "not ready within 0.2 s"),
    ],
)
async def test_a_process_that_does_not_become_ready_is_refused_and_gone(
    make: Make, sockets: SocketFolder, spawner: Spawner, how: str, why: str
) -> None:
    process = make(ready_s=0.2 if how == "silent" else BOUND_S)
    with pytest.raises(StartFailed, match=why):
        await process.start(config(start=how))
    assert not process.alive
    assert process.failures == []
    assert list(sockets.path.iterdir()) == []
    await pids.until_gone(*pids.below(await spawner.pid()))


@pytest.mark.parametrize(
    ("command", "code", "exit_code", "signal_name", "words"),
    [
        ("crash 7", "SESSION_CRASHED", 7, None, "exit code 7"),
        ("crash 0", "SESSION_CRASHED", 0, None, "exit code 0"),
        ("raise oh", "SESSION_CRASHED", 1, None, "exit code 1"),
        ("kill", "SESSION_CRASHED", None, "SIGKILL", "too much memory"),
    ],
)
@pytest.mark.proves("004-4.10-exit-is-reported")
async def test_the_end_of_a_process_is_told_with_how_it_came_about(
    make: Make, command: str, code: str, exit_code: int | None, signal_name: str | None, words: str
) -> None:
    process = make()
    await process.start(config())
    process.do(command)
    failure = await process.failure()
    assert (failure.code, failure.exit_code) == (code, exit_code)
    assert failure.signal == signal_name
    assert words in failure.message


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("garbage", "no message"),
        (f"long {limits.IPC_LINE_BYTES_MAX + 1}", f"more than {limits.IPC_LINE_BYTES_MAX} bytes"),
    ],
)
@pytest.mark.proves("004-4.5-json-lines")
async def test_a_process_that_breaks_the_protocol_is_ended(
    make: Make, command: str, words: str
) -> None:
    process = make()
    await process.start(config())
    process.do(command)
    failure = await process.failure()
    assert failure.code == "SESSION_CRASHED"
    assert words in failure.message
    assert process.pid is not None
    await pids.until_gone(process.pid)


async def test_a_line_just_within_the_bound_is_no_reason_to_end(make: Make) -> None:
    process = make()
    await process.start(config())
    # The rest of the line is the envelope of the event; the answer repeats the text twice.
    process.do("x" * (limits.IPC_LINE_BYTES_MAX // 2))
    process.do("still here")

    async def last() -> str:
        events = [one.data for one in process.said if isinstance(one, ipc.SseEvent)]
        return events[-1] if events else ""

    await eventually(last, lambda text: "still here" in text)
    assert process.alive


async def test_a_process_that_answers_no_ping_is_killed_as_hung(make: Make) -> None:
    process = make(ping_s=0.02, pings_max=5)
    await process.start(config())
    process.do("hang")
    failure = await process.failure()
    assert (failure.code, failure.signal) == ("SESSION_HUNG", "SIGKILL")
    assert process.pid is not None
    await pids.until_gone(process.pid)


async def test_a_process_that_answers_pings_lives_on(make: Make) -> None:
    process = make(ping_s=0.002, pings_max=500)
    await process.start(config())
    pongs = 0

    def count(line: bytes) -> None:
        nonlocal pongs
        pongs += isinstance(ipc.decode_up(line), ipc.Pong)
        SessionProcess.on_line(process, line)

    process.on_line = count  # type: ignore[method-assign]
    await until(lambda: pongs, lambda number: number > 500)
    assert process.alive


async def test_a_process_that_is_only_stopped_hangs_too(make: Make) -> None:
    process = make(ping_s=0.02, pings_max=5)
    await process.start(config())
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    assert (await process.failure()).code == "SESSION_HUNG"


async def test_a_process_that_closes_its_socket_and_lives_on_is_ended(make: Make) -> None:
    process = make(stop_s=0.05)
    await process.start(config())
    process.do("deaf")
    assert "closed its socket" in (await process.failure()).message


async def test_a_process_that_takes_no_notice_of_stop_is_killed(make: Make) -> None:
    process = make(stop_s=0.05)
    await process.start(config())
    process.do("hang")
    await process.stop("test")
    assert not process.alive
    assert process.pid is not None
    await pids.until_gone(process.pid)


async def test_the_last_words_of_a_process_arrive_before_its_end(make: Make) -> None:
    process = make()
    await process.start(config())
    process.do("one")
    process.do("crash 3")
    await process.failure()
    assert len(process.said) == 2


async def test_a_socket_that_cannot_be_made_is_a_clear_error(
    make: Make, sockets: SocketFolder
) -> None:
    sockets.path.rmdir()
    with pytest.raises(StartFailed, match="no socket"):
        await make().start(config())


@pytest.mark.proves("004-4.5-unix-socket")
async def test_the_socket_is_private_and_gone_once_it_is_used(
    spawner: Spawner, sockets: SocketFolder
) -> None:
    seen: list[int] = []

    async def launch(path: str) -> ForkedChild:
        seen.append(stat.S_IMODE(Path(path).stat().st_mode))
        seen.append(stat.S_IMODE(Path(path).parent.stat().st_mode))
        return await spawner.spawn(path)

    process = Watched(launch, sockets, PATIENCE)
    await process.start(config())
    assert seen == [0o600, 0o700]
    assert list(sockets.path.iterdir()) == []
    process.kill()
    await process.failure()


@pytest.mark.proves("004-4.5-unix-socket")
async def test_a_stranger_on_the_socket_learns_nothing_and_changes_nothing(
    spawner: Spawner, sockets: SocketFolder
) -> None:
    """The kernel says who connects; only the process that was made for it is let in."""
    strangers: list[socket.socket] = []

    async def launch(path: str) -> ForkedChild:
        stranger = socket.socket(socket.AF_UNIX)
        stranger.setblocking(False)
        await asyncio.get_running_loop().sock_connect(stranger, path)
        strangers.append(stranger)
        return await spawner.spawn(path)

    process = Watched(launch, sockets, PATIENCE)
    assert await process.start(config()) == ipc.Ready()
    [stranger] = strangers
    with stranger:
        loop = asyncio.get_running_loop()
        with suppress(ConnectionResetError):
            assert await loop.sock_recv(stranger, 100) == b""
    process.kill()
    await process.failure()
