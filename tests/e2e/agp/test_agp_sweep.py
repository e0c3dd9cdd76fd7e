"""Once a second every device is looked after, whatever happens to one of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.agp import new_device
from tests.support.control import ADMIN, Control, TestUser
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
