"""The one port and what knocks at it: foreign pages, broken heads, strange paths, reused lines."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio

from tests.support.control import Control, TestUser, running
from tests.support.raw_ws import PING, RawWs, encode_frame
from trunkline import limits

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAIT_S = 15.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Control]:
    data = tmp_path_factory.mktemp("control") / "data"
    async with running(data, rate_limit_per_minute=0) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def user(control: Control) -> TestUser:
    return await control.user()


@pytest_asyncio.fixture(loop_scope="module")
async def session(user: TestUser) -> AsyncIterator[str]:
    async with await user.vm() as vm:
        session_id = await user.session()
        await vm.text(session_id, "hello")
        yield session_id


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_fault_in_the_loop() -> AsyncIterator[None]:
    """What a protocol raises ends in the loop's own handler, where nobody would see it."""
    faults: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: faults.append(context))
    yield
    loop.set_exception_handler(None)
    assert faults == []


class Wire:
    """A bare TCP connection to the door."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self.host = urlsplit(control.url).netloc
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def __aenter__(self) -> "Wire":
        parts = urlsplit(self._control.url)
        self.reader, self.writer = await asyncio.open_connection(parts.hostname, parts.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()
        await asyncio.sleep(0)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(WAIT_S):
            raw = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = raw.strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        return int(first.split(" ")[1]), headers

    async def answer(self) -> tuple[int, Any]:
        """Status and decoded JSON body of the next answer."""
        status, headers = await self.head()
        async with asyncio.timeout(WAIT_S):
            return status, json.loads(await self.reader.readexactly(int(headers["content-length"])))

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(WAIT_S):
            return await self.reader.read()


def get(path: str, host: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {host}", *headers, "", ""]).encode()


def upgrade(path: str, host: str, *headers: str) -> bytes:
    usual = (
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    return get(path, host, *usual, *headers)


async def readers_active(control: Control) -> float:
    async with aiohttp.ClientSession() as http, http.get(control.url + "/metrics") as answer:
        found = re.search(r"^sse_readers_active (\S+)$", await answer.text(), re.MULTILINE)
    assert found is not None
    return float(found[1])


# --- Who may call ---------------------------------------------------------------------------------

FOREIGN = [
    "https://evil.example",
    "http://127.0.0.1.evil.example",
    "http://localhost:1",
    "http://user@127.0.0.1",
    "null",
    "file://",
    "",
]


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_page_of_another_site_reaches_neither_websocket_nor_stream_nor_rest(
    control: Control, user: TestUser, session: str, origin: str
) -> None:
    line = await RawWs(f"{user.ws_url}?user_id={user.id}").connect(Origin=origin)
    assert line.status == 403
    assert json.loads(line.body)["error"]["code"] == "ORIGIN_REFUSED"
    async with Wire(control) as wire:
        bearer = f"Authorization: Bearer {user.token}"
        path = f"/api/v1/sessions/{session}/stream"
        await wire.send(get(path, wire.host, bearer, f"Origin: {origin}"))
        status, body = await wire.answer()
        assert (status, body["error"]["code"]) == (403, "ORIGIN_REFUSED")
    for method, path in (("GET", "/sessions"), ("POST", "/sessions"), ("GET", "/api/v1/nothing")):
        status, body = await control.call(
            method, path, token=user.token, headers={"Origin": origin}
        )
        assert (status, body["error"]["code"]) == (403, "ORIGIN_REFUSED")


async def test_the_servers_own_page_is_let_in_everywhere(
    control: Control, user: TestUser, session: str
) -> None:
    async with await RawWs(f"{user.ws_url}?user_id={user.id}").connect(Origin=control.url) as line:
        assert line.status == 101
    async with user.reader(session, Origin=control.url) as reader:
        assert reader.status == 200
        await reader.until_text("hello")
    status, _ = await control.call(
        "GET", "/sessions", token=user.token, headers={"Origin": control.url}
    )
    assert status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "x/../", "[::2]"]
)
async def test_a_foreign_name_in_the_host_header_is_refused(
    control: Control, user: TestUser, session: str, host: str
) -> None:
    bearer = f"Authorization: Bearer {user.token}"
    for request in (
        upgrade(f"/ws/vm?user_id={user.id}", host),
        get(f"/api/v1/sessions/{session}/stream", host, bearer),
        get("/api/v1/sessions", host, bearer),
        get("/healthz", host),
    ):
        async with Wire(control) as wire:
            await wire.send(request)
            status, body = await wire.answer()
            assert (status, body["error"]["code"]) == (403, "HOST_REFUSED"), request


# --- Where ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/ws", "/ws/vm/", "/ws/vm/x", "/ws/../ws/vm", "/ws/none", "//ws/vm", "/api/v1/me"]
)
async def test_a_websocket_to_an_unknown_path_is_a_404(control: Control, path: str) -> None:
    async with Wire(control) as wire:
        await wire.send(upgrade(path, wire.host))
        status, body = await wire.answer()
        assert status == 404
        assert body["error"]["code"] == "PATH_NOT_FOUND"
        assert await wire.rest() == b""


STRANGE_IDS = [
    "..",
    "%2e%2e",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2ftrunkline.db",
    "..%5c..%5cwindows",
    "a%2fb",
    "%2f",
    "%00",
    "x%00%2f..",
    "%ff%fe",
    "%0d%0aset-cookie:x",
    "'%20or%201=1--",
    "x" * 4000,
    "%F0%9F%98%80",
    "*",
    "_",
]


@pytest.mark.parametrize("name", STRANGE_IDS)
async def test_a_strange_id_in_a_path_finds_nothing_and_breaks_nothing(
    control: Control, user: TestUser, name: str
) -> None:
    bearer = f"Authorization: Bearer {user.token}"
    for path in (f"/api/v1/sessions/{name}/stream", f"/api/v1/sessions/{name}"):
        async with Wire(control) as wire:
            await wire.send(get(path, wire.host, bearer))
            status, body = await wire.answer()
            assert status in (400, 404), (path, status, body)
            assert body["error"]["code"] in (
                "SESSION_NOT_FOUND",
                "NOT_FOUND",
                "INVALID_REQUEST",
            ) or (body["error"]["code"] == "PATH_NOT_FOUND")
            await wire.send(b"")


async def test_a_stream_whose_id_hides_a_slash_is_answered_once(
    control: Control, user: TestUser
) -> None:
    # The door sees a path that is no stream's, the router one that is: neither may pass it on.
    async with Wire(control) as wire:
        bearer = f"Authorization: Bearer {user.token}"
        await wire.send(get("/api/v1/sessions/a%2Fb/stream", wire.host, bearer))
        assert (await wire.answer())[0] == 404
        await wire.send(get("/healthz", wire.host))
        assert (await wire.answer())[0] == 200


# --- Heads ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/sessions/x/stream"])
async def test_a_huge_head_is_answered_with_431_also_in_one_packet(
    control: Control, path: str
) -> None:
    for size in (limits.HEAD_BYTES_MAX, 100_000, 5_000_000):
        async with Wire(control) as wire:
            wire.writer.write(get(path, wire.host, f"X-Padding: {'x' * size}"))
            status, body = await wire.answer()
            assert (status, body["error"]["code"]) == (431, "TOO_LARGE")


async def test_a_huge_head_of_an_upgrade_is_answered_with_431(control: Control) -> None:
    for padding in ("X-Padding: " + "x" * 20_000, "Cookie: " + "a=b; " * 4000):
        async with Wire(control) as wire:
            await wire.send(upgrade("/ws/vm?user_id=x", wire.host, padding))
            assert (await wire.answer())[0] == 431


async def test_a_head_that_never_ends_is_answered_with_431(control: Control) -> None:
    async with Wire(control) as wire:
        await wire.send(b"GET / HTTP/1.1\r\n")
        for _ in range(40):
            await wire.send(b"X-More: " + b"x" * 500 + b"\r\n")
        assert (await wire.answer())[0] == 431


async def test_a_slow_head_is_cut(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_TIMEOUT_S", 0.1)
    async with Wire(control) as silent, Wire(control) as slow, Wire(control) as tls:
        await slow.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        await tls.send(bytes.fromhex("16030100f8010000f40303") + b"\x00" * 200)
        for wire in (silent, slow, tls):
            with contextlib.suppress(ConnectionResetError):
                assert await wire.rest() == b""


@pytest.mark.parametrize(
    "garbage",
    [
        b"\r\n\r\n",
        b"\x00\xff\xfe\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n: no name\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        b"GET /?" + b"a=b&" * 100 + b" HTTP/1.1\r\n\r\n",
        b"*1\r\n$4\r\nPING\r\n\r\n",
    ],
)
async def test_garbage_is_answered_with_400(control: Control, garbage: bytes) -> None:
    async with Wire(control) as wire:
        await wire.send(garbage + b"x" * 1000)
        status, body = await wire.answer()
        assert (status, body["error"]["code"]) == (400, "INVALID_REQUEST")
        assert await wire.rest() == b""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Sec-WebSocket-Version", "5"),
        ("Sec-WebSocket-Key", ""),
        ("Sec-WebSocket-Key", "c2hvcnQ="),
        ("Connection", "close"),
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
    ],
)
async def test_a_broken_upgrade_request_is_answered_with_400(
    user: TestUser, name: str, value: str
) -> None:
    line = RawWs(f"{user.ws_url}?user_id={user.id}")
    await line.connect(**{name: value, "X-Padding": "x" * 9000}, behind=b"x" * 9000)
    assert line.status == 400


async def test_a_head_may_come_byte_by_byte(control: Control, user: TestUser) -> None:
    async with Wire(control) as wire:
        for byte in get("/healthz", wire.host):
            await wire.send(bytes([byte]))
        assert (await wire.answer())[0] == 200


# --- One connection, many requests ----------------------------------------------------------------


async def test_a_kept_alive_connection_may_go_on_as_a_stream(
    control: Control, user: TestUser
) -> None:
    async with await user.vm() as vm, Wire(control) as wire:
        session_id = await user.session()
        bearer = f"Authorization: Bearer {user.token}"
        for _ in range(3):
            await wire.send(get("/api/v1/sessions", wire.host, bearer))
            status, body = await wire.answer()
            assert (status, body["items"][0]["id"]) == (200, session_id)
        await wire.send(get(f"/api/v1/sessions/{session_id}/stream", wire.host, bearer))
        status, headers = await wire.head()
        assert status == 200
        assert headers["content-type"].startswith("text/event-stream")
        await wire.send(get("/healthz", wire.host))  # a reader has nothing more to say
        for number in (1, 2):
            await vm.text(session_id, f"t{number}")
            async with asyncio.timeout(WAIT_S):
                event = await wire.reader.readuntil(b"\n\n")
            assert event.startswith(f"id: {number}\ndata: ".encode())
            assert f"t{number}".encode() in event


async def test_a_stream_on_a_kept_alive_connection_is_refused_like_any_other(
    control: Control, user: TestUser, session: str
) -> None:
    stranger = await control.user("eve")
    async with Wire(control) as wire:
        await wire.send(get("/healthz", wire.host))
        assert (await wire.answer())[0] == 200
        bearer = f"Authorization: Bearer {stranger.token}"
        await wire.send(get(f"/api/v1/sessions/{session}/stream", wire.host, bearer))
        status, body = await wire.answer()
        assert (status, body["error"]["code"]) == (404, "SESSION_NOT_FOUND")
        assert await wire.rest() == b""


async def test_requests_in_one_packet_are_answered_in_order_and_the_last_may_be_a_stream(
    control: Control, user: TestUser, session: str
) -> None:
    bearer = f"Authorization: Bearer {user.token}"
    async with Wire(control) as wire:
        await wire.send(
            get("/healthz", wire.host)
            + get("/api/v1/me", wire.host, bearer)
            + get(f"/api/v1/sessions/{session}/stream", wire.host, bearer)
        )
        assert await wire.answer() == (200, {"status": "ok"})
        status, me = await wire.answer()
        assert (status, me["user"]["id"] if "user" in me else me["id"]) == (200, user.id)
        status, headers = await wire.head()
        assert headers["content-type"].startswith("text/event-stream")
        async with asyncio.timeout(WAIT_S):
            assert b"hello" in await wire.reader.readuntil(b"\n\n")


async def test_frames_in_the_packet_of_the_upgrade_request_are_taken(user: TestUser) -> None:
    line = RawWs(f"{user.ws_url}?user_id={user.id}")
    async with await line.connect(behind=encode_frame(PING, b"early")):
        await line.pong(b"early")


async def test_a_kept_alive_connection_may_go_on_as_a_websocket(
    control: Control, user: TestUser
) -> None:
    # A proxy that keeps its connections sends an upgrade over any of them.
    async with Wire(control) as wire:
        await wire.send(get("/healthz", wire.host))
        assert (await wire.answer())[0] == 200
        await wire.send(upgrade(f"/ws/vm?user_id={user.id}", wire.host))
        status, headers = await wire.head()
        assert status == 101
        assert headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".lower()
        await wire.send(encode_frame(PING, b"hello"))
        async with asyncio.timeout(WAIT_S):
            assert await wire.reader.readexactly(7) == b"\x8a\x05hello"


async def test_a_large_body_behind_a_small_head_arrives_whole(
    control: Control, user: TestUser
) -> None:
    text = "x" * 150_000
    agent = await user.ok("POST", "/agents", {"name": "big", "system_prompt": text})
    assert agent["system_prompt"] == text


# --- Readers come and go --------------------------------------------------------------------------


async def test_a_revoked_token_cuts_its_readers_and_no_others(
    control: Control, user: TestUser, session: str
) -> None:
    issued = await user.ok("POST", f"/users/{user.id}/token")
    second = TestUser(control, user.id, issued["token"])
    async with (
        user.reader(session) as mine,
        second.reader(session) as one,
        second.reader(session) as two,
    ):
        for reader in (mine, one, two):
            await reader.until_text("hello")
        await user.ok("DELETE", f"/tokens/{issued['id']}")
        await one.until_ended()
        await two.until_ended()
        assert not mine.ended
    async with second.reader(session) as late:
        assert late.status == 401


async def test_a_token_revoked_while_its_reader_is_let_in_cuts_it_too(
    control: Control, user: TestUser, session: str
) -> None:
    for _ in range(20):
        issued = await user.ok("POST", f"/users/{user.id}/token")
        second = TestUser(control, user.id, issued["token"])
        reader = second.reader(session)
        opening = asyncio.create_task(reader.open())
        await user.ok("DELETE", f"/tokens/{issued['id']}")
        try:
            await opening
        except (ConnectionError, asyncio.IncompleteReadError):
            continue  # cut before it got an answer
        await reader.until_ended()
        await reader.leave()


async def test_readers_that_leave_at_once_are_not_counted_for_ever(
    control: Control, user: TestUser, session: str
) -> None:
    path = f"/api/v1/sessions/{session}/stream"
    bearer = f"Authorization: Bearer {user.token}"
    for _ in range(20):
        async with Wire(control) as wire:
            await wire.send(get(path, wire.host, bearer))
            wire.writer.close()  # the request arrives, and right behind it the end
            await wire.writer.wait_closed()
    async with user.reader(session) as reader:
        await reader.until_text("hello")
        async with asyncio.timeout(WAIT_S):
            while await readers_active(control) != 1:
                pass
    async with asyncio.timeout(WAIT_S):
        while await readers_active(control) != 0:
            pass
