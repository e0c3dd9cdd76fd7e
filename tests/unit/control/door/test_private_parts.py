"""Canaries: what the door takes from inside aiohttp and picows, each in words.

Neither library promises these parts. They are pinned in `pyproject.toml`; when an upgrade breaks
one, the test here says which, where it is used and what stops working.
"""

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, NamedTuple, cast

import pytest
from aiohttp import web
from picows import WSFrame, WSListener, WSMsgType, WSProtocolError, WSTransport
from picows.picows import WSProtocol  # type: ignore[attr-defined]

from tests.support.raw_ws import CLOSE, PING, TEXT, encode_frame
from tests.support.wire import get, upgrade
from trunkline.control.door.head import parse_head
from trunkline.control.door.websocket import adopt, send_close

WAIT_S = 10.0
FRAME_BYTES_MAX = 1000


@contextlib.contextmanager
def or_else(library: str, what: str) -> Iterator[None]:
    """Says what is broken, whatever the sign of it was."""
    try:
        yield
    except Exception as error:
        pytest.fail(f"{library} has changed: {what} ({type(error).__name__}: {error})")


class Peer(NamedTuple):
    """The other end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read(self, size: int) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self.reader.readexactly(size)

    async def head(self) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self.reader.read()


@contextlib.asynccontextmanager
async def connected(protocol: Callable[[], asyncio.BaseProtocol]) -> AsyncIterator[Peer]:
    listener = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname()[:2])
    try:
        yield Peer(reader, writer)
    finally:
        writer.transport.abort()
        listener.close()
        await listener.wait_closed()


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def aiohttp_server(handler: Handler) -> AsyncIterator[Callable[[], asyncio.Protocol]]:
    app = web.Application()
    app.router.add_get("/", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    assert runner.server is not None
    try:
        yield runner.server
    finally:
        await runner.cleanup()


async def hello(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="hello")


async def test_aiohttp_takes_over_a_connection_whose_first_bytes_were_read_by_somebody_else() -> (
    None
):
    class FirstReader(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = cast(asyncio.Transport, transport)

        def data_received(self, data: bytes) -> None:
            protocol = server()
            self.transport.set_protocol(protocol)
            protocol.connection_made(self.transport)
            protocol.data_received(data)

    async with aiohttp_server(hello) as server, connected(FirstReader) as peer:
        with or_else(
            "aiohttp",
            "the protocol that `AppRunner.server` makes no longer answers a request that is fed to "
            "it by `data_received` after `set_protocol`; `Door._admit_http` serves every HTTP "
            "request that way",
        ):
            peer.writer.write(get("/", "127.0.0.1"))
            assert (await peer.head()).startswith(b"HTTP/1.1 200")


async def test_aiohttp_keeps_what_came_behind_an_upgrade_request_in_its_message_tail() -> None:
    tails: list[Any] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        tails.append(getattr(request.protocol, "_message_tail", "no such attribute"))
        return web.Response()

    async with aiohttp_server(handler) as server, connected(server) as peer:
        peer.writer.write(upgrade("/", "127.0.0.1") + b"early frames")
        await peer.head()
    assert tails == [b"early frames"], (
        "aiohttp has changed: `RequestHandler._message_tail` does not hold the bytes behind an "
        "upgrade request any more; `Door.take_back` would lose frames that a client sends together "
        "with an upgrade on a connection that was kept alive"
    )


async def test_aiohttp_leaves_a_connection_alone_once_it_believes_that_the_client_is_gone() -> None:
    taken: list[asyncio.Transport] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        taken.append(request.transport)
        request.protocol.transport = None
        request.protocol.connection_lost(None)
        raise asyncio.CancelledError

    async with aiohttp_server(handler) as server, connected(server) as peer:
        with or_else(
            "aiohttp",
            "a handler that takes `protocol.transport` away, calls `connection_lost` and ends as "
            "cancelled does not get the connection for itself: aiohttp closes it or writes to it; "
            "`Door.take_back` makes streams and WebSockets of connections that were kept alive",
        ):
            peer.writer.write(get("/", "127.0.0.1"))
            while not taken:
                await asyncio.sleep(0)
            for _ in range(10):  # whatever aiohttp still does, it does now
                await asyncio.sleep(0)
            assert not taken[0].is_closing()
            taken[0].write(b"ours")
            assert await peer.read(4) == b"ours"
            taken[0].close()
            assert await peer.rest() == b""


class Listener(WSListener):
    """Notes what picows calls it with."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.pings = 0
        self.ends = 0
        self.transport: WSTransport

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.PING:
            self.pings += 1
            transport.send_pong(b"by the listener")
        else:
            self.texts.append(frame.get_payload_as_utf8_text())

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.ends += 1


class Doorway(asyncio.Protocol):
    """Gives a connection to picows as the door does."""

    def __init__(self, listener: WSListener) -> None:
        self._listener = listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        head = parse_head(data)
        assert head is not None
        adopt(self._transport, head, self._listener, FRAME_BYTES_MAX)


async def test_picows_serves_a_connection_that_is_given_to_its_inner_protocol() -> None:
    listener = Listener()
    async with connected(lambda: Doorway(listener)) as peer:
        with or_else(
            "picows",
            "`picows.picows.WSProtocol` cannot be made with fifteen arguments by place, or is not "
            "fed by `get_buffer` and `buffer_updated` any more; `door/websocket.py`, `adopt`, "
            "opens every WebSocket that way",
        ):
            behind = encode_frame(TEXT, b"in the same packet")
            peer.writer.write(upgrade("/", "127.0.0.1") + behind + encode_frame(PING))
            assert (await peer.head()).startswith(b"HTTP/1.1 101")
            assert await peer.read(17) == b"\x8a\x0fby the listener"
    assert listener.texts == ["in the same packet"]
    assert listener.pings == 1, (
        "picows has changed: pings do not reach the listener, or are answered without it (the "
        "twelfth argument of `WSProtocol`); edges take them as a sign of life"
    )


async def test_picows_refuses_a_frame_above_the_bound_that_it_is_made_with() -> None:
    listener = Listener()
    async with connected(lambda: Doorway(listener)) as peer:
        peer.writer.write(upgrade("/", "127.0.0.1"))
        await peer.head()
        peer.writer.write(encode_frame(TEXT, b"x" * (FRAME_BYTES_MAX + 1)))
        with or_else(
            "picows",
            "the thirteenth argument of `WSProtocol` does not bound a frame any more, or a refused "
            "frame is not followed by a close frame and the end of the connection",
        ):
            first, _size = await peer.read(2)
            assert first == 0x80 | CLOSE
            await peer.rest()
        # The peer has not hung up, and is not cut yet.
        assert listener.ends >= 1, (
            "picows has changed: it gives a connection up without the log entry that "
            "`door/websocket.py`, `_Watch`, waits for, so an edge goes on taking messages from it"
        )
    assert listener.texts == []


async def test_picows_logs_that_it_gives_up_where_it_has_caught_the_error() -> None:
    caught: list[BaseException | None] = []

    class Watch(logging.LoggerAdapter[logging.Logger]):
        def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
            if level >= logging.ERROR:
                caught.append(sys.exc_info()[1])

    class Adopted(Doorway):
        def data_received(self, data: bytes) -> None:
            watch = Watch(logging.getLogger("picows"), {})
            made = WSProtocol(
                *(None, None, False, lambda _request: self._listener, watch, True, WAIT_S),
                *(False, 0, 0, 1, False, FRAME_BYTES_MAX, None, 4096),
            )
            self._transport.set_protocol(made)
            made.connection_made(self._transport)
            made.get_buffer(len(data))[: len(data)] = data
            made.buffer_updated(len(data))

    async with connected(lambda: Adopted(Listener())) as peer:
        peer.writer.write(upgrade("/", "127.0.0.1") + encode_frame(TEXT, b"unmasked", masked=False))
        await peer.head()
        await peer.rest()
    with or_else(
        "picows",
        "a broken frame is not logged as an error while the `WSProtocolError` is being handled, or "
        "that error does not carry code and reason; `door/websocket.py`, `_Watch`, learns from it "
        "that a connection is given up",
    ):
        error = caught[0]
        assert isinstance(error, WSProtocolError)
        assert int(error.args[0]) == 1002
        assert isinstance(error.args[1], str)


async def test_picows_sends_close_codes_that_it_has_no_name_for() -> None:
    listener = Listener()
    async with connected(lambda: Doorway(listener)) as peer:
        peer.writer.write(upgrade("/", "127.0.0.1"))
        await peer.head()
        with or_else(
            "picows",
            "`send_close` does not take a plain number as a code; every wire here has codes of its "
            "own, such as 4029, and `door/websocket.py`, `send_close`, passes them on",
        ):
            send_close(listener.transport, 4029, "too much")
            assert await peer.rest() == b"\x88\x0a" + (4029).to_bytes(2) + b"too much"
