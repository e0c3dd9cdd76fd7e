"""A device that is here and has lost its turn: the turn ends, and others get theirs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.agp import ScriptedDevice, new_device
from tests.support.control import ADMIN, Control, TestUser
from trunkline import limits
from trunkline.control.edges.agp.device import AgpDevice
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


class _Watch:
    """A device's clock, which goes on when a test says so."""

    def __init__(self, server: Server) -> None:
        self.host = next(wire for wire in server._edges if isinstance(wire, AgpHost))
        self._time = 0.0
        (self.device,) = self.host._devices.values()
        self.device.now = lambda: self._time

    def passes(self, seconds: float) -> None:
        self._time += seconds
        self.host.sweep()


async def _at_work(user: TestUser, device: ScriptedDevice) -> tuple[str, str]:
    session_id = await user.session()
    turn_id = await user.say(session_id, "work")
    await device.text(await device.prompt("work"), "half")
    await device.round_trip()
    return session_id, turn_id


async def test_a_turn_of_which_a_connected_device_says_nothing_more_ends_and_the_next_follows(
    server: Server, user: TestUser
) -> None:
    assert limits.AGP_TURN_SILENCE_S == 10 * 60
    async with await new_device(user) as device:
        watch = _Watch(server)
        session_id, turn_id = await _at_work(user, device)
        await user.say(session_id, "next")
        watch.passes(0)
        watch.passes(601)
        async with user.reader(session_id) as reader:
            end = await reader.until_type("execution_error")
            assert (end["turn_id"], end["code"]) == (turn_id, "DEVICE_SILENT")
            lost = await device.prompt("work")
            await device.cancel_of(lost)
            following = await device.prompt("next")
            await device.respond(lost, "late")  # not shown any more
            await device.respond(following, "new")
            assert (await reader.until_type("execution_complete"))["content"] == "new"


@pytest.mark.parametrize("sign", ["text", "tool", "return"])
async def test_a_word_of_the_turn_or_a_reconnect_starts_the_wait_afresh(
    server: Server, user: TestUser, sign: str
) -> None:
    device = await new_device(user)
    watch = _Watch(server)
    session_id, _ = await _at_work(user, device)
    prompt = await device.prompt("work")
    watch.passes(0)
    watch.passes(599)
    if sign == "text":
        await device.text(prompt, "more")
    elif sign == "tool":
        await device.tool(prompt, "t", "in_progress")
    else:
        await device.leave()
        device = await device.again().connect()
    await device.round_trip()
    watch.passes(2)
    watch.passes(599)
    await device.respond(prompt, "done")
    async with user.reader(session_id) as reader, device:
        assert (await reader.until_type("execution_complete"))["content"] == "done"


async def test_how_long_a_device_is_away_is_not_its_silence(server: Server, user: TestUser) -> None:
    device = await new_device(user)
    watch = _Watch(server)
    session_id, _ = await _at_work(user, device)
    watch.passes(0)
    await device.leave()
    await server._core.machines.wait_offline(watch.device.machine.id)
    watch.passes(601)
    watch.passes(601)
    async with device.again() as back, user.reader(session_id) as reader:
        await back.respond(await device.prompt("work"), "done meanwhile")
        assert (await reader.until_type("execution_complete"))["content"] == "done meanwhile"


async def test_while_the_disk_stalls_no_turn_is_taken_for_lost(
    server: Server, user: TestUser
) -> None:
    async with await new_device(user) as device:
        watch = _Watch(server)
        session_id, _ = await _at_work(user, device)
        watch.passes(0)
        watch.passes(599)
        server._core.log._stall(True)  # machines are not read now
        watch.passes(601)
        server._core.log._stall(False)
        watch.passes(0)
        watch.passes(599)
        await device.respond(await device.prompt("work"), "done")
        async with user.reader(session_id) as reader:
            await reader.until(lambda one: any("execution_" in event.data for event in one.events))
            assert "DEVICE_SILENT" not in reader.events[-1].data


async def test_a_device_that_cannot_be_looked_after_does_not_keep_the_others_waiting(
    server: Server, user: TestUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await new_device(user), await new_device(user):
        host = next(wire for wire in server._edges if isinstance(wire, AgpHost))
        first, second = host._devices.values()
        swept: list[AgpDevice] = []

        def sweep(device: AgpDevice) -> None:
            swept.append(device)
            if device is first:
                raise RuntimeError("as a fault of ours would")

        monkeypatch.setattr(AgpDevice, "sweep", sweep)
        host.sweep()
        assert swept[:2] == [first, second]
