"""A web server on loopback for tests of web tools, and a connector that lets them reach it."""

import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from trunkline.execution.tools.web_fetch import guarded_connector

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LOOPBACK = [ipaddress.ip_network("127.0.0.1/32")]


def loopback_connector() -> aiohttp.TCPConnector:
    return guarded_connector(allowed=LOOPBACK)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """The server's address; every path comes to the handler."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class Names(AbstractResolver):
    """Names with the addresses that a test gives them; the next of the list each time."""

    def __init__(self, **addresses: list[str]) -> None:
        self._addresses = addresses
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        known = self._addresses[host.partition(".")[0]]
        address = known[min(self.asked, len(known) - 1)]
        self.asked += 1
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0
            )
        ]

    async def close(self) -> None:
        return
