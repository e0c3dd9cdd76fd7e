"""Which addresses are public, and that the guard looks at the one that is connected to."""

import ipaddress

import aiohttp
import pytest
from aiohttp import web

from tests.unit.execution.tools.web import Names, serving
from trunkline.execution.tools.addresses import AddressRefused, guarded_connector, is_public

PRIVATE = [
    *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
    *("169.254.169.254", "100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
    *("255.255.255.255", "192.88.99.1", "203.0.113.7"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::7f00:1", "fe80::1", "fc00::1"),
    *("fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "2001:db8::1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_for_everyone_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


async def never(request: web.Request) -> web.Response:
    raise AssertionError("the server was reached")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[::]"])
async def test_loopback_is_not_connected_to(host: str) -> None:
    async with (
        serving(never) as address,
        aiohttp.ClientSession(connector=guarded_connector()) as session,
    ):
        port = address.rpartition(":")[2]
        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            await session.get(f"http://{host}:{port}/")
    assert isinstance(caught.value.os_error, AddressRefused)


async def test_a_name_that_changes_its_mind_is_judged_by_where_it_leads_now() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="hello")

    names = Names(shifty=["127.0.0.1", "127.0.0.2"])
    allowed = [ipaddress.ip_network("127.0.0.1/32")]
    async with (
        serving(answer) as address,
        aiohttp.ClientSession(connector=guarded_connector(allowed, names)) as session,
    ):
        url = f"http://shifty.example:{address.rpartition(':')[2]}/"
        async with session.get(url) as response:
            assert await response.text() == "hello"
        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            await session.get(url)
    assert isinstance(caught.value.os_error, AddressRefused)
    assert names.asked == 2
