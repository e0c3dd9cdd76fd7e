"""The HTTP server behind the door: aiohttp with our routes, for everything that is no stream."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from trunkline import limits
from trunkline.control.api.app import build_app
from trunkline.control.api.needs import Core


class HttpServer:
    """Makes a protocol for each connection that the door hands over."""

    def __init__(self, core: Core) -> None:
        self._runner = web.AppRunner(
            build_app(core),
            access_log=None,
            shutdown_timeout=limits.DRAIN_WORK_S,
            max_line_size=limits.HEAD_BYTES_MAX,
            max_field_size=limits.HEAD_BYTES_MAX,
        )

    async def start(self) -> Callable[[], asyncio.Protocol]:
        await self._runner.setup()
        assert self._runner.server is not None
        return self._runner.server

    async def stop(self) -> None:
        """Lets requests under way end, then closes what is kept alive."""
        await self._runner.cleanup()
