"""How long a machine waits before it asks a foreign server again."""

import asyncio
from pathlib import Path

import pytest
from yarl import URL

from tests.support.foreign_servers import ForeignServer
from trunkline.execution.errors import NoLine
from trunkline.execution.ws.connection import Socket
from trunkline.execution.ws.disk_queue import Journal
from trunkline.execution.ws.foreign.courier import Courier
from trunkline.execution.ws.foreign.unconfirmed import Unconfirmed


class _Enough(Exception):
    """The test has seen what it wanted."""


class Wire:
    """Lets itself in at the ninth attempt, and hangs up."""

    def __init__(self) -> None:
        self.attempts = 0

    async def greet(self, socket: Socket) -> None:
        self.attempts += 1
        if self.attempts != 9:
            raise NoLine(socket.end)
        socket.abort()

    def opening(self) -> list[bytes]:
        return []

    def caught_up(self) -> list[bytes]:
        return []

    def beat(self) -> bytes:
        return b"{}"

    def outgoing(self, body: bytes) -> bytes:
        return body

    def take(self, text: str) -> None:
        raise AssertionError("the server says nothing")


class Pauses(list[float]):
    """Each is over at once; after so many the test ends."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    async def __call__(self, seconds: float) -> None:
        self.append(round(seconds, 3))
        if len(self) == self._most:
            raise _Enough


def courier(url: str, folder: Path, pauses: Pauses) -> Courier:
    return Courier(URL(url), Wire(), Unconfirmed(Journal(folder / "owed.jsonl")), pauses)


@pytest.mark.proves("notes-4-reconnect-delays")
async def test_each_pause_is_half_as_long_again_up_to_the_most_and_short_after_a_line(
    tmp_path: Path,
) -> None:
    pauses = Pauses(10)
    async with ForeignServer() as server, asyncio.timeout(30):
        with pytest.raises(_Enough):
            await courier(server.url, tmp_path, pauses).run()
    growing = [3.0, 4.5, 6.75, 10.125, 15.188, 22.781, 25.0, 25.0]
    assert pauses == [*growing, 3.0, 4.5]


async def test_a_server_that_is_not_there_is_asked_again(tmp_path: Path) -> None:
    pauses = Pauses(3)
    async with ForeignServer() as server:
        url = server.url
    with pytest.raises(_Enough):
        await courier(url, tmp_path, pauses).run()
    assert len(pauses) == 3
