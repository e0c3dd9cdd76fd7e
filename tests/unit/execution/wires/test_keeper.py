"""How long a machine waits before it asks a foreign server again."""

import asyncio

import pytest
from yarl import URL

from tests.support.foreign_servers import ForeignServer
from trunkline.execution.wires.keeper import Keeper
from trunkline.execution.wires.socket import Socket


class _Enough(Exception):
    """The test has seen what it wanted."""


@pytest.mark.proves("notes-4-reconnect-delays")
async def test_each_pause_is_half_as_long_again_up_to_the_most_and_short_after_a_line() -> None:
    pauses: list[float] = []
    lines = 0

    async def sleep(seconds: float) -> None:
        pauses.append(round(seconds, 3))
        if len(pauses) == 10:
            raise _Enough

    async def live(socket: Socket) -> None:
        nonlocal lines
        lines += 1
        if lines == 9:
            keeper.is_up()

    async with ForeignServer() as server:
        keeper = Keeper(URL(server.url), sleep)
        async with asyncio.timeout(30):
            with pytest.raises(_Enough):
                await keeper.run(live)
    growing = [3.0, 4.5, 6.75, 10.125, 15.188, 22.781, 25.0, 25.0]
    assert pauses == [*growing, 3.0, 4.5]


async def test_a_server_that_is_not_there_is_asked_again() -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise _Enough

    async with ForeignServer() as server:
        url = URL(server.url)
    with pytest.raises(_Enough):
        await Keeper(url, sleep).run(_never)
    assert len(pauses) == 3


async def _never(_socket: Socket) -> None:
    raise AssertionError("there is no server")
