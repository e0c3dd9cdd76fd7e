"""The daemon's proxy: who gets out, to where, and what becomes of nonsense."""

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest

from trunkline.execution.fence.proxy import HEAD_BYTES_MAX, Proxy

BOUND_S = 20


@pytest.fixture
async def upstream() -> AsyncIterator[int]:
    """A server that says what it was sent."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + asked)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    made = Proxy(resolve)
    await made.open()
    yield made
    await made.close()


async def said(proxy: Proxy, text: bytes) -> str:
    async with asyncio.timeout(BOUND_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(text)
        answer = await reader.read()
        writer.close()
    return answer.decode()


def login(address: str) -> str:
    user = address.removeprefix("http://").partition("@")[0]
    return f"Proxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}\r\n"


async def test_a_host_of_the_list_is_reached_by_a_plain_request(
    proxy: Proxy, upstream: int
) -> None:
    head = login(proxy.address("s-1", ["127.0.0.1"]))
    answer = await said(
        proxy, f"GET http://127.0.0.1:{upstream}/a?b=c HTTP/1.1\r\n{head}X: y\r\n\r\n".encode()
    )
    assert "GET /a?b=c HTTP/1.1" in answer
    assert "X: y" in answer
    assert "Proxy-" not in answer


async def test_a_host_of_the_list_is_reached_by_connect(proxy: Proxy, upstream: int) -> None:
    head = login(proxy.address("s-1", ["127.0.0.1"]))
    answer = await said(
        proxy,
        f"CONNECT 127.0.0.1:{upstream} HTTP/1.1\r\n{head}\r\nGET /inside HTTP/1.1\r\n\r\n".encode(),
    )
    assert answer.startswith("HTTP/1.1 200 Connection established")
    assert "GET /inside" in answer


async def test_another_host_is_refused_in_words(proxy: Proxy) -> None:
    head = login(proxy.address("s-1", ["example.org"]))
    answer = await said(proxy, f"CONNECT evil.example:443 HTTP/1.1\r\n{head}\r\n".encode())
    assert answer.startswith("HTTP/1.1 403 evil.example is not among the network_hosts")


async def test_a_name_of_the_list_that_leads_home_is_refused(proxy: Proxy, upstream: int) -> None:
    """Whoever has the name could point it at the control plane."""
    head = login(proxy.address("s-1", ["*.example.org"]))
    answer = await said(proxy, f"CONNECT a.example.org:{upstream} HTTP/1.1\r\n{head}\r\n".encode())
    assert answer.startswith("HTTP/1.1 403")


async def test_another_sessions_list_is_not_mine(proxy: Proxy, upstream: int) -> None:
    proxy.address("s-2", ["127.0.0.1"])
    mine = proxy.address("s-1", [])
    for given in (
        login(mine),
        login("http://s-2:guess@x"),
        "",
        "Proxy-Authorization: Basic %%\r\n",
    ):
        answer = await said(proxy, f"CONNECT 127.0.0.1:{upstream} HTTP/1.1\r\n{given}\r\n".encode())
        assert answer[:12] in ("HTTP/1.1 403", "HTTP/1.1 407")


@pytest.mark.parametrize(
    "text",
    [
        b"nonsense\r\n\r\n",
        b"GET /relative HTTP/1.1\r\n\r\n",
        b"GET ftp://a/ HTTP/1.1\r\n\r\n",
        b"CONNECT [::1 HTTP/1.1\r\n\r\n",
        b"CONNECT a:999999 HTTP/1.1\r\n\r\n",
        b"CONNECT  HTTP/1.1\r\n\r\n",
        b"\xff\xfe \xff HTTP/1.1\r\n\r\n",
    ],
)
async def test_nonsense_is_a_bad_request(proxy: Proxy, text: bytes) -> None:
    assert (await said(proxy, text)).startswith("HTTP/1.1 400")


async def test_a_head_without_end_is_cut_off(proxy: Proxy) -> None:
    assert await said(proxy, b"GET " + b"x" * (2 * HEAD_BYTES_MAX)) == ""
