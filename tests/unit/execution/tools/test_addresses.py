"""That the guard looks at the address that is connected to."""

import ipaddress

import aiohttp
import pytest
from aiohttp import web

from tests.unit.execution.tools.web import Names, serving
from trunkline.execution.errors import AddressRefused
from trunkline.execution.tools.web_fetch import guarded_connector


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
