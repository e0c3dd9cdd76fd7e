"""A disk that stalls: machines are not read, and not blamed for the silence (DESIGN 3)."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.admission import again_url
from tests.support.control import ADMIN, Control, TestUser
from tests.support.eventually import eventually
from tests.support.raw_ws import RawWs
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.control.edges.semibot.host import VmHost
from trunkline.control.log import log as log_module
from trunkline.control.log.segments import Segment, SqliteSegments
from trunkline.control.server import Server
from trunkline.control.settings import Settings


class Disk:
    """The log's disk, which a test can fill up, or stop altogether."""

    def __init__(self) -> None:
        self.is_full = False
        self.turns = threading.Event()
        self.turns.set()

    def heal(self) -> None:
        self.is_full = False
        self.turns.set()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made, commit = Disk(), SqliteSegments._append

    def append(self: SqliteSegments, segments: list[Segment], again: bool) -> None:
        made.turns.wait(30)
        if made.is_full:
            raise OSError("disk full")
        commit(self, segments, again)

    monkeypatch.setattr(SqliteSegments, "_append", append)
    monkeypatch.setattr(log_module, "_STALL_S", 0.01)
    monkeypatch.setattr(log_module, "_RETRY_S", 0.1)
    yield made
    made.heal()


@pytest.fixture
async def server(tmp_path: Path, disk: Disk) -> AsyncIterator[Server]:
    made = Server(Settings(port=0, data=str(tmp_path / "data"), admin_token=ADMIN))
    await made.start()
    yield made
    disk.heal()
    await made.stop()


@pytest.fixture
async def user(server: Server) -> TestUser:
    return await Control(server._local_url()).user()


async def stalled(server: Server, wanted: bool = True) -> None:
    async def look() -> bool:
        return server._core.log.is_stalled is wanted

    await eventually(look)


def vms_of(server: Server) -> VmHost:
    return next(edge for edge in server._edges if isinstance(edge, VmHost))


def is_read(server: Server) -> list[bool]:
    """Of each line, whether its socket is read."""
    return [line._transport.underlying_transport.is_reading() for line in vms_of(server).lines]


async def test_no_line_is_taken_for_dead_while_we_do_not_listen(
    server: Server, user: TestUser, disk: Disk
) -> None:
    host, shift = vms_of(server), 0.0
    loop_time = asyncio.get_running_loop().time
    host.now = lambda: loop_time() + shift
    async with await user.vm() as vm:
        session = await user.session()
        await vm.expect("start_session")
        disk.is_full = True
        await vm.text(session, "to the disk")
        await stalled(server)
        for _ in range(3):
            shift += 2 * limits.HEARTBEAT_SILENCE_S
            host.sweep()
        assert vm.close_code is None
        disk.heal()
        async with user.reader(session) as reader:
            await reader.until_text("to the disk")
        await stalled(server, False)
        await vm.text(session, "and on")
        async with user.reader(session) as reader:
            await reader.until_text("and on")
        host.sweep()
        shift += 2 * limits.HEARTBEAT_SILENCE_S
        host.sweep()  # now it is the machine that was silent
        assert await vm.closed() == 4008


async def test_a_line_that_comes_during_a_stall_is_read_when_it_is_over(
    server: Server, user: TestUser, disk: Disk
) -> None:
    async with await user.vm() as vm:
        session = await user.session()
        await vm.expect("start_session")
        disk.is_full = True
        await vm.text(session, "to the disk")
        await stalled(server)
        assert is_read(server) == [False]
        async with await user.vm() as newcomer:
            assert is_read(server) == [False, False]
            disk.heal()
            await stalled(server, False)
            assert is_read(server) == [True, True]
            other = await user.session()
            await newcomer.expect("start_session")
            await newcomer.text(other, "heard")
            async with user.reader(other) as reader:
                await reader.until_text("heard")


async def test_a_token_that_came_in_time_may_take_long_to_check(
    server: Server, user: TestUser, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await user.vm() as vm:
        session = await user.session()
        await vm.expect("start_session")
        monkeypatch.setattr(limits, "AUTH_TIMEOUT_S", 0.1)
        disk.turns.clear()
        await vm.text(session, "to the disk")
        await stalled(server)
        scheduled = await user.schedule()
        newcomer = ScriptedVm(user.ws_url, user.id, scheduled["token"], scheduled["ticket"])
        await newcomer.connect()
        await newcomer.send({"type": "auth", "token": scheduled["token"]})
        async with await RawWs(again_url(user)).connect() as silent:
            assert await silent.closed() == 4001  # so much time has passed
        assert newcomer.received == []
        disk.heal()
        await newcomer.expect("init")
        await newcomer.leave()
