"""The HTTP server behind the door: aiohttp with every route, for what is no stream.

Every request passes one gate: its host and origin are checked, whatever goes wrong becomes a
response, and pages of allowed origins may read what comes back.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from trunkline import limits
from trunkline.control.api import asyncapi, openapi, operator
from trunkline.control.api.framework import Route, bind
from trunkline.control.api.http_log import HttpLog
from trunkline.control.api.responses import handle_errors
from trunkline.control.api.routes import ALL
from trunkline.control.api.routes.sessions import TAKE_BACK
from trunkline.control.api.site import Site
from trunkline.control.core import Core
from trunkline.control.door.door import TakeBack
from trunkline.control.door.origin import check_host, check_origin, cors_headers, preflight_headers
from trunkline.control.errors import Forbidden, InvalidRequest
from trunkline.control.surprises import HTTP

Json = dict[str, Any]
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

ROUTES: list[Route] = [*ALL, *operator.routes.items]

# A link that is fetched ahead by a mail or chat program with HEAD must not be used up by it.
_NO_HEAD = frozenset({"/login", "/api/v1/stream", "/api/v1/sessions/{session_id}/stream"})


@cache
def _openapi() -> Json:
    return openapi.describe(ROUTES)


_asyncapi = cache(asyncapi.describe)


def build_app(core: Core, take_back: TakeBack, site: Site | None = None) -> web.Application:
    """The application. `core` may still be starting: nothing of it is used before a request.
    `take_back`: takes a connection that asks HTTP for what is not HTTP's. `site`: another page."""
    site = site or Site()
    gate = _gate(core, take_back, site)
    app = web.Application(middlewares=[gate], client_max_size=limits.UPLOAD_BYTES_MAX)
    app[TAKE_BACK] = take_back
    app[operator.SITE] = site
    app[operator.DOCUMENTS] = operator.Documents(_openapi, _asyncapi)
    for route in ROUTES:
        if route.method == "GET":
            app.router.add_get(route.path, bind(route, core), allow_head=route.path not in _NO_HEAD)
        else:
            app.router.add_route(route.method, route.path, bind(route, core))
    return app


def _gate(core: Core, take_back: TakeBack, site: Site) -> Middleware:
    async def check(request: web.Request, handler: _Handler) -> web.StreamResponse:
        settings = core.settings
        if len(request.headers.getall("Host", ())) > 1:
            raise InvalidRequest("more than one Host header")
        host, origin = request.headers.get("Host"), request.headers.get("Origin")
        if request.headers.get("Upgrade", "").lower() == "websocket":
            # Over a connection that served HTTP before. The door checks host and origin.
            return await take_back(request)
        try:
            check_host(host, settings)
            check_origin(origin, host, settings)
        except Forbidden as error:
            core.handshakes.refused(HTTP, request.path, error)
            raise
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            return web.Response(status=204, headers=preflight_headers(origin, settings))
        if isinstance(request.match_info.http_exception, web.HTTPNotFound):
            shown = await site.elsewhere(request)
            if shown is not None:
                return shown
        response = await handle_errors(request, handler)
        if request.match_info.http_exception is not None:
            _note_unknown(core, request)
        if not response.prepared:
            response.headers.update(cors_headers(origin, settings))
        return response

    @web.middleware
    async def gate(request: web.Request, handler: _Handler) -> web.StreamResponse:
        response = await handle_errors(request, lambda request: check(request, handler))
        if not response.prepared:
            response.headers["Server"] = "trunkline"
        return response

    return gate


def _note_unknown(core: Core, request: web.Request) -> None:
    """A path that is not served here, other than below our own API. Those of programs are counted
    apart from what strangers look for on every server."""
    path = request.path
    if not path.startswith("/api/v1/"):
        sort = "route" if path.startswith("/api/") else "path"
        core.surprises.saw(HTTP, f"{sort} {request.method} {path}")


class HttpServer:
    """Makes a protocol for each connection that the door hands over."""

    def __init__(self, core: Core, take_back: TakeBack) -> None:
        self._runner = web.AppRunner(
            build_app(core, take_back),
            access_log=None,
            logger=HttpLog(),
            keepalive_timeout=core.tuning.keep_alive_s,
            shutdown_timeout=core.tuning.drain_work_s,
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
