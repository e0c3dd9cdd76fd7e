"""Five minutes without a word end a line; pings of both kinds are words (003 §2)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.agp import ScriptedDevice, new_device
from tests.support.control import ADMIN, Control, TestUser
from tests.support.raw_ws import PING, RawWs
from trunkline import limits
from trunkline.control.edges.agp.connection import AgpLine
from trunkline.control.edges.agp.host import AgpHost
from trunkline.control.server import Server
from trunkline.control.settings import Settings


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    server = Server(Settings(port=0, data=str(tmp_path / "data"), admin_token=ADMIN))
    yield server
    await server.stop()


@pytest_asyncio.fixture
async def user(server: Server) -> TestUser:
    info = await server.start()
    return await Control(info.url).user()


def _host(server: Server) -> AgpHost:
    return next(wire for wire in server._edges if isinstance(wire, AgpHost))


def _age(line: AgpLine, seconds: float) -> None:
    """As if nothing had been said for so long."""
    line.last_seen -= seconds
    line.last_told -= seconds


@pytest.mark.proves("003-2-idle-five-minutes")
async def test_a_line_without_a_word_for_five_minutes_is_closed(
    server: Server, user: TestUser
) -> None:
    assert limits.AGP_IDLE_S == 5 * 60
    host = _host(server)
    async with await new_device(user) as device:
        (line,) = host.lines
        _age(line, 290)
        host.sweep()
        assert host.lines == {line}
        _age(line, 11)
        host.sweep()
        assert await device.closed() == 4008
        assert host.lines == set()


async def _ping(device: ScriptedDevice, user: TestUser) -> None:
    await device.round_trip()


async def _prompt(device: ScriptedDevice, user: TestUser) -> None:
    session_id = await user.session()
    await user.say(session_id, "hello")
    await device.prompt("hello")


@pytest.mark.parametrize("word", [_ping, _prompt])
@pytest.mark.proves("notes-4-pings")
async def test_a_text_ping_and_a_message_to_the_device_count(
    server: Server, user: TestUser, word: object
) -> None:
    assert callable(word)
    host = _host(server)
    async with await new_device(user) as device:
        (line,) = host.lines
        _age(line, 301)
        await word(device, user)
        host.sweep()
        assert host.lines == {line}


async def test_a_websocket_ping_counts_and_is_answered(server: Server, user: TestUser) -> None:
    host = _host(server)
    device = await new_device(user)
    await device.leave()
    async with RawWs(device.url) as raw:
        await raw.frame(PING, b"are you there?")
        await raw.pong(b"are you there?")
        (line,) = host.lines
        _age(line, 301)
        await raw.frame(PING, b"still?")
        await raw.pong(b"still?")
        host.sweep()
        assert host.lines == {line}


async def test_while_the_disk_stalls_the_silence_is_ours(server: Server, user: TestUser) -> None:
    host = _host(server)
    async with await new_device(user) as device:
        (line,) = host.lines
        server._core.log._stall(True)  # machines are not read now
        _age(line, 301)
        host.sweep()
        server._core.log._stall(False)
        host.sweep()
        await device.round_trip()
        assert host.lines == {line}


async def test_a_shutdown_says_goodbye_with_1001(server: Server, user: TestUser) -> None:
    async with await new_device(user) as device:
        for wire in server._edges:
            wire.say_goodbye()
        assert await device.closed() == 1001
