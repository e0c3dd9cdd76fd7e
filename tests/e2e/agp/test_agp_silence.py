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
