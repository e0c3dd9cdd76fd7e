"""A stream goes on after every break, from where it was, and gives up with a clear word."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from aiohttp import web

from tests.support.eventually import eventually
from trunkline.client import ApiError, Client, Event, StreamBroken
from trunkline.wire import sse


class Server:
    """Serves one session's stream from a script: the nth connection gets the nth answer."""

    def __init__(self) -> None:
        self.positions: list[str] = []
        self.streams: list[asyncio.Transport] = []
        self.script: list[bytes | int] = []
        self.log: list[int] = []
        """What pages of the log hold, two at a time."""
        self.log_fails_after: int | None = None
        """The position from which on the log cannot be read."""
        self.may_break = asyncio.Event()
        self.may_break.set()
        self.url = ""

    async def stream(self, request: web.Request) -> web.StreamResponse:
        self.positions.append(request.headers["Last-Event-ID"])
        assert request.headers["Authorization"] == "Bearer tl_test"
        answer = self.script[min(len(self.positions), len(self.script)) - 1]
        if isinstance(answer, int):
            body = {"error": {"code": "SOME_CODE", "message": f"no: {answer}"}}
            return web.json_response(body, status=answer)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        assert request.transport is not None
        self.streams.append(request.transport)
        await response.prepare(request)
        await response.write(answer)
        await self.may_break.wait()
        self.streams[-1].abort()  # the connection breaks, in the middle of whatever it was
        return response

    async def events(self, request: web.Request) -> web.Response:
        after = int(request.query["after"])
        if self.log_fails_after is not None and after >= self.log_fails_after:
            body = {"error": {"code": "UNAVAILABLE", "message": "the log cannot be read"}}
            return web.json_response(body, status=503)
        ids = [number for number in self.log if number > after]
        items = [{"id": one, "event": {"type": "text_chunk", "n": one}} for one in ids[:2]]
        is_lost = after not in (0, *self.log, *(one - 1 for one in self.log))
        more = ids[1] if len(ids) > 2 else None
        return web.json_response({"items": items, "next_after": more, "resync": is_lost})


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_get("/api/v1/sessions/s-1/stream", server.stream)
    app.router.add_get("/api/v1/sessions/s-1/events", server.events)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = "http://{}:{}".format(*runner.addresses[0][:2])
    yield server
    server.may_break.set()
    await runner.cleanup()


class Pauses:
    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


async def read(server: Server, count: int, after: int = 0) -> tuple[list[Event], Pauses]:
    pauses = Pauses()
    found: list[Event] = []
    async with asyncio.timeout(30), Client(server.url, "tl_test", sleep=pauses) as client:
        stream = aiter(client.sessions.stream("s-1", after))
        async for event in stream:
            found.append(event)
            if len(found) == count:
                break
        await stream.aclose()
    return found, pauses


def events(first: int, count: int) -> bytes:
    return sse.frames(first, [f'{{"type":"text_chunk","n":{first + i}}}' for i in range(count)])


async def test_a_broken_stream_goes_on_after_the_last_event(server: Server) -> None:
    server.script = [events(5, 3), events(8, 2) + b"id: 10\ndata: {", events(10, 2)]
    found, _ = await read(server, 7, after=4)
    assert [event.id for event in found] == [5, 6, 7, 8, 9, 10, 11]
    assert [event.data["n"] for event in found] == [5, 6, 7, 8, 9, 10, 11]
    assert server.positions == ["4", "7", "9"]


async def test_what_is_repeated_is_not_given_twice(server: Server) -> None:
    server.script = [events(1, 3), events(2, 4)]
    found, _ = await read(server, 5)
    assert [event.id for event in found] == [1, 2, 3, 4, 5]


async def test_what_a_resync_skips_is_read_from_the_log(server: Server) -> None:
    server.log = [1, 2, 3, 4, 5]
    server.script = [events(1, 1) + sse.RESYNC + events(4, 2), events(6, 1)]
    found, _ = await read(server, 7)
    assert [event.id for event in found] == [1, None, 2, 3, 4, 5, 6]
    assert found[1].type == "resync"
    assert server.positions == ["0", "5"]


async def test_a_log_that_stays_unreadable_ends_the_stream(server: Server) -> None:
    server.log, server.log_fails_after = [1, 2, 3, 4], 2
    server.script = [sse.RESYNC]
    with pytest.raises(StreamBroken, match=r"after event 2 .* the log cannot be read"):
        await read(server, 1000)


async def test_a_log_that_is_readable_again_is_read_from_where_it_was_left(server: Server) -> None:
    server.log, server.log_fails_after = [1, 2, 3, 4], 2
    server.script = [sse.RESYNC]
    found: list[Event] = []

    async def repair(_seconds: float) -> None:
        server.log_fails_after = None

    async with (
        Client(server.url, "tl_test", sleep=repair) as client,
        aclosing(aiter(client.sessions.stream("s-1"))) as stream,
    ):
        async for event in stream:
            found.append(event)
            if event.id == 4:
                break
    assert [event.id for event in found if event.type != "resync"] == [1, 2, 3, 4]


async def test_a_position_of_another_log_starts_this_one_from_its_beginning(server: Server) -> None:
    server.log = [1, 2, 3]
    server.script = [sse.RESYNC + events(4, 2), events(6, 1)]
    found, _ = await read(server, 7, after=500)
    assert [event.id for event in found] == [None, 1, 2, 3, 4, 5, 6]
    assert server.positions == ["500", "5"]


@pytest.mark.parametrize(
    ("log", "after", "wanted"),
    [
        ([7, 8, 9], 3, [None, 7, 8, 9]),
        ([1, 2, 1001, 1002], 2, [None, 1001, 1002]),
        ([1, 2, 1001, 1002], 500, [None, 1, 2, 1001, 1002]),
    ],
    ids=["before a cut", "right before a gap", "in a gap"],
)
async def test_a_log_that_was_cut_or_restored_is_read_as_it_is_now(
    server: Server, log: list[int], after: int, wanted: list[int | None]
) -> None:
    server.log, server.script = log, [sse.RESYNC]
    found, _ = await read(server, len(wanted), after=after)
    assert [event.id for event in found] == wanted


@pytest.mark.parametrize("count", [1, 2, 3], ids=["live", "at a resync", "in the log"])
async def test_a_stream_that_is_closed_leaves_no_connection_open(
    server: Server, count: int
) -> None:
    server.log = [1, 2, 3]
    server.may_break.clear()
    server.script = [events(1, 1) + sse.RESYNC]
    async with Client(server.url, "tl_test") as client:
        async with aclosing(aiter(client.sessions.stream("s-1"))) as stream:
            for _ in range(count):
                await anext(stream)

        async def are_closed() -> bool:
            return all(one.is_closing() for one in server.streams)

        await eventually(are_closed)


async def test_what_is_no_event_of_ours_does_no_harm(server: Server) -> None:
    odd = b"data: no id\n\nid: x\ndata: {}\n\nevent: other\nid: 2\ndata: {}\n\n"
    odd += b"id: " + b"9" * 5000 + b"\ndata: {}\n\n"
    server.script = [odd + b"id: 3\ndata: not json\n\nid: 4\ndata: [1]\n\n"]
    found, _ = await read(server, 2)
    assert [(event.id, event.data["raw"]) for event in found] == [(3, "not json"), (4, "[1]")]


async def test_passing_refusals_are_waited_out_with_growing_pauses(server: Server) -> None:
    server.script = [503, 429, 502, events(1, 1)]
    found, pauses = await read(server, 1)
    assert len(found) == 1
    assert pauses.taken == [0.1, 0.2, 0.5]


async def test_the_servers_wish_when_to_return_is_kept(server: Server) -> None:
    server.script = [events(1, 1) + sse.goodbye("restart", 1500), events(2, 1)]
    _, pauses = await read(server, 2)
    assert pauses.taken == [1.5]


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_final_refusal_ends_the_stream(server: Server, status: int) -> None:
    server.script = [status]
    with pytest.raises(ApiError, match="no: ") as caught:
        await read(server, 1)
    assert (caught.value.status, caught.value.code) == (status, "SOME_CODE")
    assert len(server.positions) == 1


async def test_a_server_that_stays_away_ends_the_stream_with_its_position(server: Server) -> None:
    server.script = [events(1, 2), 503]
    with pytest.raises(StreamBroken, match="after event 2"):
        await read(server, 3)


async def test_a_connection_that_brings_heartbeats_starts_the_count_over(server: Server) -> None:
    server.script.extend([503, sse.HEARTBEAT] * 20)
    server.script.append(events(1, 1))
    found, _ = await read(server, 1)
    assert found[0].id == 1
