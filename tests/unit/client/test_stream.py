"""A stream goes on after every break, from where it was, and gives up with a clear word."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from trunkline.client import ApiError, Client, Event, StreamBroken
from trunkline.wire import sse


class Server:
    """Serves one session's stream from a script: the nth connection gets the nth answer."""

    def __init__(self) -> None:
        self.positions: list[str] = []
        self.script: list[bytes | int] = []
        self.log: list[int] = []
        """What pages of the log hold, two at a time."""
        self.url = ""

    async def stream(self, request: web.Request) -> web.StreamResponse:
        self.positions.append(request.headers["Last-Event-ID"])
        assert request.headers["Authorization"] == "Bearer tl_test"
        answer = self.script[min(len(self.positions), len(self.script)) - 1]
        if isinstance(answer, int):
            body = {"error": {"code": "SOME_CODE", "message": f"no: {answer}"}}
            return web.json_response(body, status=answer)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(answer)
        assert request.transport is not None
        request.transport.abort()  # the connection breaks, in the middle of whatever it was
        return response

    async def events(self, request: web.Request) -> web.Response:
        ids = [number for number in self.log if number > int(request.query["after"])]
        items = [{"id": one, "event": {"type": "text_chunk", "n": one}} for one in ids[:2]]
        return web.json_response({"items": items, "next_after": ids[1] if len(ids) > 2 else None})


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
    await runner.cleanup()


class Pauses:
    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


async def read(server: Server, count: int, after: int = 0) -> tuple[list[Event], Pauses]:
    pauses = Pauses()
    found: list[Event] = []
    async with Client(server.url, "tl_test") as client:
        stream = aiter(client.sessions.stream("s-1", after, sleep=pauses))
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


async def test_what_is_no_event_of_ours_does_no_harm(server: Server) -> None:
    odd = b"data: no id\n\nid: x\ndata: {}\n\nevent: other\nid: 2\ndata: {}\n\n"
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
