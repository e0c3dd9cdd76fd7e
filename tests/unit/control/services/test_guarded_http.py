"""The guard on connected addresses, tried with real connections."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from trunkline.control.errors import InvalidRequest
from trunkline.control.services.address_guard import AddressGuard, AddressRefused
from trunkline.control.services.guarded_http import GuardedTransport


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "100::1",
    ],
)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not AddressGuard("").allows("example.com", address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450::1"])
def test_a_public_address_is_allowed(address: str) -> None:
    assert AddressGuard("").allows("example.com", address)


def test_the_allow_list_takes_names_addresses_and_networks() -> None:
    guard = AddressGuard(" mcp.internal , 10.1.0.0/16,127.0.0.1, fd00::/8 ,")
    assert guard.allows("MCP.internal.", "192.168.0.9")
    assert guard.allows("whatever", "10.1.2.3")
    assert guard.allows("whatever", "127.0.0.1")
    assert guard.allows("whatever", "fd12::1")
    assert not guard.allows("whatever", "10.2.0.1")
    assert not guard.allows("whatever", "127.0.0.2")
    assert not guard.allows("evil-mcp.internal", "192.168.0.9")
    assert not guard.allows("whatever", "::ffff:10.1.2.3")
    assert not guard.allows("whatever", "fe80::1%eth0")
    assert not guard.allows("whatever", "not an address")


def test_a_broken_allow_list_is_refused_at_the_start() -> None:
    with pytest.raises(InvalidRequest, match=re.escape("10.0.0.0/99")):
        AddressGuard("10.0.0.0/99")


class Listener:
    """A loopback HTTP server that answers everything with one response."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connections = 0


@asynccontextmanager
async def listening(answer: Callable[[int], bytes], host: str) -> AsyncIterator[Listener]:
    seen = Listener(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(seen.port))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, host, 0)
    seen.port = server.sockets[0].getsockname()[1]
    async with server:
        yield seen


def response(status: str, body: bytes = b"", *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def client(allowed: str, **options: bool) -> httpx2.AsyncClient:
    transport = GuardedTransport(AddressGuard(allowed), 1000)
    return httpx2.AsyncClient(transport=transport, trust_env=False, **options)  # type: ignore[arg-type]


async def test_loopback_is_refused_before_anything_is_connected() -> None:
    async with listening(lambda _: response("200 OK"), "127.0.0.1") as server:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"):
            async with client("") as http:
                with pytest.raises((AddressRefused, httpx2.ConnectError)):
                    await http.get(f"http://{host}:{server.port}/")
        assert server.connections == 0


async def test_a_name_that_resolves_to_loopback_is_refused_with_the_way_to_allow_it() -> None:
    async with client("") as http:
        with pytest.raises(AddressRefused, match="mcp_allowed_hosts") as caught:
            await http.get("http://localhost:9/")
    assert caught.value.code == "MCP_ADDRESS_REFUSED"


async def test_an_allowed_host_is_reached() -> None:
    async with listening(lambda _: response("200 OK", b"hello"), "127.0.0.1") as server:
        for allowed in ("127.0.0.0/8", "localhost"):
            async with client(allowed) as http:
                host = "localhost" if allowed == "localhost" else "127.0.0.1"
                assert (await http.get(f"http://{host}:{server.port}/")).text == "hello"


async def test_a_redirect_to_a_private_address_meets_the_same_guard() -> None:
    async with listening(lambda _: response("200 OK"), "127.0.0.2") as inner:

        def redirect(_: int) -> bytes:
            return response("307 Moved", b"", f"location: http://127.0.0.2:{inner.port}/")

        async with (
            listening(redirect, "127.0.0.1") as outer,
            client("127.0.0.1", follow_redirects=True) as http,
        ):
            with pytest.raises(AddressRefused):
                await http.get(f"http://127.0.0.1:{outer.port}/")
        assert (outer.connections, inner.connections) == (1, 0)


async def test_a_name_that_changes_its_answer_is_connected_where_it_was_checked() -> None:
    """DNS rebinding: one lookup a connection, and the checked address is the one that is used."""
    answers = [["127.0.0.2"], ["127.0.0.1"]]
    lookups: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        lookups.append(host)
        return answers[min(len(lookups), 2) - 1]

    async with listening(lambda _: response("200 OK"), "127.0.0.1") as private:
        transport = GuardedTransport(AddressGuard("127.0.0.2"), 1000, rebinding)
        async with httpx2.AsyncClient(transport=transport, trust_env=False) as http:
            # Checked and connected at 127.0.0.2, where nobody listens on this port.
            with pytest.raises(httpx2.ConnectError):
                await http.get(f"http://rebind.test:{private.port}/")
            assert lookups == ["rebind.test"]
            with pytest.raises(AddressRefused):
                await http.get(f"http://rebind.test:{private.port}/")
        assert private.connections == 0


async def test_of_several_addresses_only_fine_ones_are_tried() -> None:
    async def mixed(host: str, port: int) -> list[str]:
        return ["127.0.0.1", "10.255.255.1", "127.0.0.3"]

    async with (
        listening(lambda _: response("200 OK"), "127.0.0.1") as private,
        listening(lambda _: response("200 OK", b"fine"), "127.0.0.3") as fine,
    ):
        transport = GuardedTransport(AddressGuard("127.0.0.3"), 1000, mixed)
        async with httpx2.AsyncClient(transport=transport, trust_env=False) as http:
            assert (await http.get(f"http://mixed.test:{fine.port}/")).text == "fine"
        assert private.connections == 0


async def test_an_answer_over_its_bound_is_cut() -> None:
    large = response("200 OK", b"x" * 1001)
    async with listening(lambda _: large, "127.0.0.1") as server, client("127.0.0.1") as http:
        with pytest.raises(httpx2.StreamError, match="over 1000 bytes"):
            await http.get(f"http://127.0.0.1:{server.port}/")


async def test_a_compressed_answer_is_refused_whatever_its_size() -> None:
    bomb = response("200 OK", gzip.compress(bytes(10_000))[:500], "content-encoding: gzip")
    async with listening(lambda _: bomb, "127.0.0.1") as server, client("127.0.0.1") as http:
        with pytest.raises(httpx2.RemoteProtocolError, match="gzip"):
            await http.get(f"http://127.0.0.1:{server.port}/")


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening(lambda _: response("200 OK", b"proxied"), "127.0.0.1") as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        async with client("") as http:
            with pytest.raises(AddressRefused):
                await http.get("http://127.0.0.1:9/")
        assert proxy.connections == 0
