"""Routes for operators and for browsers without a login: health, metrics, documents, pages.

Served to everyone, except `/metrics`: that is for this host, for addresses that a setting names,
and for an admin's token.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import structlog
from aiohttp import web
from msgspec import Meta
from sqlalchemy.exc import SQLAlchemyError

from trunkline.control.access.cookies import drop_old_cookie, old_cookie_of, set_cookie
from trunkline.control.api import pages
from trunkline.control.api.framework import Routes, identify
from trunkline.control.api.responses import page_response
from trunkline.control.api.site import Site
from trunkline.control.core import Core
from trunkline.control.door.callers import address_of, counted_as, is_forwarded, is_in
from trunkline.control.door.origin import is_local_name
from trunkline.control.errors import (
    Forbidden,
    LimitReached,
    TrunklineError,
    Unauthorized,
    Unavailable,
)
from trunkline.control.presence import NONCE_CHARS_MAX, NONCE_CHARS_MIN
from trunkline.control.settings import networks_of
from trunkline.control.store import causes

_log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

_READY_TIMEOUT_S = 2.0  # a database that takes longer is not ready

routes = Routes("operator", prefix="")


class Health(msgspec.Struct, kw_only=True):
    status: Literal["ok"] = "ok"


class LoginQuery(msgspec.Struct, kw_only=True):
    code: Annotated[str, Meta(description="Of the login link.")] = ""


class Challenge(msgspec.Struct, kw_only=True):
    """`nonce`: something that was never asked before."""

    nonce: Annotated[
        str, Meta(min_length=NONCE_CHARS_MIN, max_length=NONCE_CHARS_MAX, pattern=r"^[!-~]+$")
    ]


class Proof(msgspec.Struct, kw_only=True):
    """HMAC-SHA-256 over address and nonce, under the key in the data folder's `server.json`."""

    proof: str


@routes.get("/healthz", is_open=True)
async def check_alive() -> Health:
    """Say whether the process is alive."""
    return Health()


@routes.get("/readyz", is_open=True)
async def check_ready(core: Core) -> Health:
    """Say whether requests can be served: database and log keep up. 503 when not."""
    if problem := await problem_of(core):
        raise Unavailable(problem, code="NOT_READY")
    return Health()


async def problem_of(core: Core) -> str | None:
    """Why requests cannot be served now."""
    if core.log.stalled is not None:
        return f"the session log cannot be written: {core.log.stalled}"
    if core.storage.cause is not None:
        return f"records cannot be written: {core.storage.cause}"
    try:
        async with asyncio.timeout(_READY_TIMEOUT_S):
            await core.store.ping()
    except (SQLAlchemyError, OSError, TimeoutError, TrunklineError) as error:
        _log.error("not ready", error=repr(error))
        return f"the database does not answer: {causes.cause_of(error) or causes.FAILED}"
    return None


@routes.post("/proof", is_open=True)
async def prove(core: Core, body: Challenge) -> Proof:
    """Prove to whoever can read this server's data folder that this is its server.

    The command line asks before it shows the folder's token.
    """
    return Proof(proof=core.presence.prove(body.nonce))


@routes.get("/metrics", is_open=True, media="text/plain")
async def get_metrics(core: Core, request: web.Request) -> web.Response:
    """Show metrics in Prometheus' text format.

    For callers on this host, for addresses in `metrics_allowed`, and for admins.
    """
    if not _may_read_metrics(core, request):
        who = await identify(core, request)
        who.require("read")
        if not who.is_admin:
            raise Forbidden(
                "metrics are for this host, for addresses that are allowed, and for admins"
            )
    return web.Response(
        body=core.exposition.render(),
        headers={
            "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
            "Cache-Control": "no-store",
        },
    )


@routes.get("/login", status=303, is_open=True, refusal="text/html")
async def log_in(core: Core, request: web.Request, query: LoginQuery) -> web.Response:
    """Redeem a login link: sets the session cookie and leads to the page.

    A link works once. With a wrong code, a page says how to get a new one (401; 429 after many).
    """
    try:
        login = await core.auth.redeem_login(query.code)
    except Unauthorized as error:
        return _refuse_link(core, request, error)
    org_id = (await core.records.users.get(core.auth.first_user, login.user_id)).org_id
    await core.trail.logged_in(login.user_id, org_id, "link", login.token_id)
    response = web.Response(status=303, headers={"Location": "/", "Cache-Control": "no-store"})
    life_s = max(0, login.expires_at - core.clock()) // 1000
    host = request.headers.get("Host")
    response.headers.add("Set-Cookie", set_cookie(core.settings, host, login.cookie, life_s))
    if old_cookie_of(request.headers) is not None:
        response.headers.add("Set-Cookie", drop_old_cookie())
    return response


def _refuse_link(core: Core, request: web.Request, error: Unauthorized) -> web.Response:
    """Nobody can guess a code, so a right one is never made to wait: what is counted are entries
    in the audit log, which a stranger could fill."""
    caller = core.connections.callers.of(request.remote or "", request.headers)
    status = 401
    try:
        core.attempts.begin(counted_as(caller), name="")
        core.trail.login_refused("link", str(caller), error.message)
    except LimitReached:
        status = 429
    return page_response(pages.page("login_failed", request.headers), status)


@routes.get("/", is_open=True, media="text/html")
async def get_home(request: web.Request) -> web.Response:
    """Show the page. It is at every address that nothing else is at, too."""
    return await request.app[SITE].index(request)


@routes.get("/docs", is_open=True, media="text/html")
async def get_docs(request: web.Request) -> web.Response:
    """Show every route, readable, with a form to try it."""
    return page_response(pages.page("docs", request.headers))


@routes.get("/pages/{name}", is_open=True, media="text/javascript, text/css")
async def get_page_file(name: str) -> web.Response:
    """Serve a script or style sheet of the pages."""
    return pages.file(name)


@routes.get("/openapi.json", is_open=True)
async def get_openapi(request: web.Request) -> dict[str, Any]:
    """Describe this API (OpenAPI 3.1)."""
    return await asyncio.to_thread(request.app[DOCUMENTS].openapi)


@routes.get("/asyncapi.json", is_open=True)
async def get_asyncapi(request: web.Request) -> dict[str, Any]:
    """Describe the WebSocket wire of execution planes (AsyncAPI 3.0)."""
    return await asyncio.to_thread(request.app[DOCUMENTS].asyncapi)


SITE = web.AppKey("site", Site)


class Documents(NamedTuple):
    """Made when somebody asks: that takes a while, which the start of a server need not."""

    openapi: Callable[[], dict[str, Any]]
    asyncapi: Callable[[], dict[str, Any]]


DOCUMENTS = web.AppKey("documents", Documents)


def _may_read_metrics(core: Core, request: web.Request) -> bool:
    """Whether the caller needs no token: it is on this host, and no proxy that speaks for someone
    else, or its address is on the list."""
    peer = address_of(request.remote or "")
    if peer is not None and peer.is_loopback and not is_forwarded(request.headers):
        return is_local_name(request.headers.get("Host"))
    caller = core.connections.callers.of(request.remote or "", request.headers)
    allowed = networks_of("metrics_allowed", core.settings.metrics_allowed)
    if caller is None or not is_in(caller, allowed):
        return False
    # A proxy that nobody named speaks for whom it likes.
    return caller != peer or not is_forwarded(request.headers)
