"""The process's end of the socket: requests and their answers, news, a daemon that is gone."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.eventually import WAIT_S, until
from trunkline import limits
from trunkline.execution.errors import RequestFailed
from trunkline.execution.session import ipc
from trunkline.execution.session.daemon_link import DaemonLink


class Ends:
    """A link and what is at its other end."""

    def __init__(
        self, link: DaemonLink, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.link = link
        self.writer = writer
        self._reader = reader
        self.messages: list[ipc.Down] = []
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self.link.messages():
            self.messages.append(message)

    async def sent(self) -> Any:
        return ipc.decode_up(await asyncio.wait_for(self._reader.readline(), WAIT_S))

    def send(self, message: ipc.Down) -> None:
        self.writer.write(ipc.line(message))


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=10_000)
    far_reader, far_writer = await asyncio.open_connection(
        sock=theirs, limit=limits.IPC_LINE_BYTES_MAX
    )
    both = Ends(DaemonLink(reader, writer), far_reader, far_writer)
    yield both
    far_writer.close()
    await both.link.close()
    await asyncio.wait({both.reading})


async def test_answers_find_who_asked_in_whatever_order_they_come(ends: Ends) -> None:
    one = asyncio.create_task(ends.link.request("first", a=1))
    two = asyncio.create_task(ends.link.request("second"))
    first, second = await ends.sent(), await ends.sent()
    assert (first.method, first.params) == ("first", {"a": 1})
    ends.send(ipc.Response(id="nobody", result="lost"))
    ends.send(ipc.Response(id=second.id, result=[2]))
    ends.send(ipc.Response(id=first.id, result={"n": 1}))
    assert (await one, await two) == ({"n": 1}, [2])


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("CONNECTION_LOST", ConnectionError),
        ("TIMEOUT", TimeoutError),
        ("SKILL_NOT_FOUND", RequestFailed),
    ],
)
async def test_a_failed_request_raises_what_callers_expect(
    ends: Ends, code: str, error: type[Exception]
) -> None:
    asking = asyncio.create_task(ends.link.request("x"))
    request = await ends.sent()
    ends.send(ipc.Response(id=request.id, error=ipc.ErrorBody(code=code, message="why")))
    with pytest.raises(error, match="why"):
        await asking


async def test_news_of_a_request_are_passed_on_while_it_runs(ends: Ends) -> None:
    asking = asyncio.create_task(ends.link.request("local.model"))
    request = await ends.sent()
    ends.send(ipc.Progress(id="another", message="not ours"))
    ends.send(ipc.Progress(id=request.id, message="loading"))
    ends.send(ipc.Response(id=request.id, result={}))
    await asking
    assert ends.messages == [ipc.Progress(id=request.id, message="loading")]


async def test_requests_fail_when_the_daemon_goes(ends: Ends) -> None:
    asking = asyncio.create_task(ends.link.request("x"))
    await ends.sent()
    ends.writer.close()
    with pytest.raises(ConnectionError):
        await asking
    with pytest.raises(ConnectionError):
        await ends.link.request("y")


async def test_a_line_over_the_bound_ends_the_link(ends: Ends) -> None:
    ends.writer.write(b"x" * 30_000)
    await asyncio.wait_for(ends.reading, WAIT_S)
    assert ends.messages == []


async def test_a_ping_can_be_answered_and_nonsense_is_passed_over(ends: Ends) -> None:
    ends.writer.write(b"\n{}\nnull\n")
    ends.send(ipc.Cancel())
    ends.send(ipc.Ping())
    await until(lambda: len(ends.messages) == 2)
    assert ends.messages == [ipc.Cancel(), ipc.Ping()]
    ends.link.pong(is_working=True)
    assert await ends.sent() == ipc.Pong(working=True)


@pytest.mark.parametrize("letter", ["\U0001d54f", '"', "\\"])
async def test_an_event_that_is_too_long_for_the_socket_arrives_cut(
    ends: Ends, letter: str
) -> None:
    ends.link.event({"type": "execution_complete", "turn_id": "t-1", "content": letter * 3_900_000})
    event = json.loads((await ends.sent()).data)
    assert (event["type"], event["turn_id"]) == ("execution_complete", "t-1")
    assert event["truncated"] is True
    assert set(event["content"]) == {letter}
