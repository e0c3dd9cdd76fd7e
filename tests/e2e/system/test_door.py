"""The one port: broken, huge and slow heads, and connections that are used again."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from tests.support.control import Control, TestUser, running
from tests.support.raw_ws import PING, RawWs, encode_frame
from tests.support.wire import WAIT_S, Wire, get, upgrade
from trunkline import limits
from trunkline.control.tuning import Tuning

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


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


async def test_a_slow_head_is_cut(tmp_path: Path) -> None:
    async with (
        running(tmp_path / "data", tuning=Tuning(head_timeout_s=0.1)) as control,
        Wire(control) as silent,
        Wire(control) as slow,
        Wire(control) as tls,
    ):
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


async def test_a_stream_without_a_token_says_what_is_needed(control: Control, session: str) -> None:
    async with Wire(control) as wire:
        await wire.send(get(f"/api/v1/sessions/{session}/stream", wire.host))
        status, headers = await wire.head()
        assert (status, headers["www-authenticate"]) == (401, "bearer")


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
