"""Open WebUI, CVE-2026-45401: an address was checked, and what it redirected to was not, so that a
server could be led to read a cloud's metadata or a service of the host.

Every hop is checked, where its socket is opened: of `web_fetch` on a machine, and of calls to MCP
servers from the control plane.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from aiohttp import web

from tests.unit.execution.tools.support import Call
from tests.unit.execution.tools.web import loopback_connector, serving
from trunkline.control.services.address_guard import AddressGuard, AddressRefused
from trunkline.control.services.guarded_http import GuardedTransport
from trunkline.execution.errors import ToolError
from trunkline.execution.home import Home
from trunkline.execution.tools.web_fetch import WebFetch


class Private:
    """A service that nobody out there should reach; `127.0.0.1` stands for a public address."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.2:{port}/latest/meta-data/"
        self.callers = 0


@contextlib.asynccontextmanager
async def private() -> AsyncIterator[Private]:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.callers += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.2", 0)
    found = Private(server.sockets[0].getsockname()[1])
    async with server:
        yield found


@contextlib.asynccontextmanager
async def leading_to(target: str, hops: int) -> AsyncIterator[str]:
    """A page that redirects to itself for a while, and then to the target."""

    async def handler(request: web.Request) -> web.Response:
        left = int(request.path.strip("/") or hops)
        where = target if left == 0 else f"/{left - 1}"
        return web.Response(status=307, headers={"Location": where})

    async with serving(handler) as url:
        yield url


@pytest.mark.parametrize("hops", [0, 2])
async def test_no_redirect_leads_a_model_to_a_private_service(tmp_path: Path, hops: int) -> None:
    home = Home(tmp_path / "home")
    home.make()
    async with private() as inner, leading_to(inner.url, hops) as url:
        with pytest.raises(ToolError, match="not a public address"):
            await Call(home).run(WebFetch(loopback_connector), url=url)
        assert inner.callers == 0


@pytest.mark.parametrize("hops", [0, 2])
async def test_no_redirect_leads_the_control_plane_to_a_private_service(hops: int) -> None:
    transport = GuardedTransport(AddressGuard("127.0.0.1"), 1000)
    async with private() as inner, leading_to(inner.url, hops) as url:
        async with httpx2.AsyncClient(
            transport=transport, trust_env=False, follow_redirects=True
        ) as http:
            with pytest.raises(AddressRefused):
                await http.get(url)
        assert inner.callers == 0
