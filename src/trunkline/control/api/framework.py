"""Typed routes: a handler's signature says what it takes, its docstring what it does.

`Routes` collects them, `bind` makes an aiohttp handler of one, `openapi.py` documents them. A
parameter is known by its name: `core`, `who`, `request`, `query`, `body`, `upload`, `files`,
`chunks`, or one of the path's. A handler returns a struct (JSON), None (204), or a response of its
own.
"""

import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec
from aiohttp import web

from trunkline.control.access.auth import Principal
from trunkline.control.access.cookies import old_cookie_of
from trunkline.control.access.scopes import Scope
from trunkline.control.api import inputs
from trunkline.control.api.responses import json_response, plain_error
from trunkline.control.core import Core
from trunkline.control.door.head import credentials_of
from trunkline.control.errors import NotFound, TrunklineError, Unauthorized

Handler = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Handler)

_OURS = "/api/v1"
_PATH_PARAM = re.compile(r"\{(\w+)(?::[^{}]+)?\}")
_OWN_NAMES = frozenset({"core", "who", "request", "query", "body", "upload", "files", "chunks"})


class Stream(NamedTuple):
    """What a stream of server-sent events carries, for the document: the type of the `data` of each
    named event, and under "" of those without a name, which have an id. `frame` names their
    union."""

    frame: str
    data: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Route:
    """One method of one path, as its handler's signature declares it."""

    method: str
    path: str
    handler: Handler
    status: int
    is_open: bool = False
    """Served to everyone; every other route wants a token or the cookie."""
    old_cookie: bool = False
    """A login by the cookie's old name is known here, so that it can be ended."""
    scope: Scope
    """What a token with scopes needs among them."""
    audit: str = ""
    """The entry that it leaves in the audit log when it was done."""
    media: str = "application/json"
    """What a response of the handler's own holds; more than one with commas between."""
    stream: Stream | None = None
    """What it carries, where it is one."""
    refusal: str = ""
    """The media type of a 401 or 429 that is not JSON: a page for people."""
    of_yeaft: bool = False
    """For Yeaft's page: its cookie counts, and errors are `{success: false, error}` with the
    message."""
    tag: str
    takes: frozenset[str]
    query: type[msgspec.Struct] | None
    body: Any
    """A struct's type, or `dict[str, Any]`; None without a body."""
    default_body: msgspec.Struct | None
    """What an absent body means; None when the body is required."""
    returns: Any

    @property
    def is_ours(self) -> bool:
        """Of the API that this project defines: names that it does not know, it refuses."""
        return self.path.startswith(_OURS)

    @property
    def shown_path(self) -> str:
        """Without what says how much of the address a parameter takes."""
        return _PATH_PARAM.sub(r"{\1}", self.path)

    @property
    def path_params(self) -> list[str]:
        return _PATH_PARAM.findall(self.path)

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.handler) or "").partition("\n")[0]

    @property
    def description(self) -> str:
        return (inspect.getdoc(self.handler) or "").partition("\n")[2].strip()


class Routes:
    """The routes of one subject, under one prefix."""

    def __init__(self, tag: str, prefix: str = _OURS, *, of_yeaft: bool = False) -> None:
        self.items: list[Route] = []
        self._tag = tag
        self._prefix = prefix
        self._of_yeaft = of_yeaft

    def get(
        self,
        path: str,
        *,
        status: int = 200,
        is_open: bool = False,
        media: str = "application/json",
        refusal: str = "",
        scope: Scope = "read",
        stream: Stream | None = None,
    ) -> Callable[[H], H]:
        served = {"is_open": is_open, "media": media, "refusal": refusal, "stream": stream}
        return self._add("GET", path, status, scope=scope, **served)

    def post(
        self,
        path: str,
        *,
        status: int = 200,
        is_open: bool = False,
        scope: Scope = "admin",
        audit: str = "",
        old_cookie: bool = False,
    ) -> Callable[[H], H]:
        served = {"is_open": is_open, "audit": audit, "old_cookie": old_cookie}
        return self._add("POST", path, status, scope=scope, **served)

    def put(self, path: str, *, scope: Scope = "admin", audit: str = "") -> Callable[[H], H]:
        return self._add("PUT", path, 200, scope=scope, audit=audit)

    def patch(
        self, path: str, *, status: int = 200, scope: Scope = "admin", audit: str = ""
    ) -> Callable[[H], H]:
        return self._add("PATCH", path, status, scope=scope, audit=audit)

    def delete(self, path: str, *, scope: Scope = "admin", audit: str = "") -> Callable[[H], H]:
        return self._add("DELETE", path, 204, scope=scope, audit=audit)

    def _add(self, method: str, path: str, status: int, **served: Any) -> Callable[[H], H]:
        def declare(handler: H) -> H:
            full, hints = self._prefix + path, typing.get_type_hints(handler)
            parameters = inspect.signature(handler).parameters
            unknown = set(parameters) - _OWN_NAMES - set(_PATH_PARAM.findall(full))
            if unknown or not inspect.getdoc(handler):
                name = handler.__qualname__
                raise TypeError(f"{name}: no docstring, or unknown parameters {unknown}")
            default = parameters["body"].default if "body" in parameters else None
            route = Route(
                method=method,
                path=full,
                handler=handler,
                status=status,
                tag=self._tag,
                takes=frozenset(parameters),
                query=hints.get("query"),
                body=hints.get("body"),
                default_body=default if isinstance(default, msgspec.Struct) else None,
                returns=hints["return"],
                of_yeaft=self._of_yeaft,
                **served,
            )
            self.items.append(route)
            return handler

        return declare


async def identify(
    core: Core, request: web.Request, *, old_cookie: bool = False, of_yeaft: bool = False
) -> Principal:
    """The person who sends this request, or Unauthorized."""
    secret = credentials_of(request.headers, core.settings, of_yeaft=of_yeaft)
    if secret is None and old_cookie:
        secret = old_cookie_of(request.headers)
    if secret is None:
        raise Unauthorized("this needs an Authorization: Bearer header or a login")
    who = await core.auth.identify(secret)
    core.connections.known(request.transport, who.user_id)
    return who


def base_url(core: Core, request: web.Request) -> str:
    """Where this server is, as the one who asks sees it, without a slash at the end. The door has
    checked the `Host` that it may come from."""
    if core.settings.public_url:
        return core.settings.public_url
    host = request.headers.get("Host") or f"{core.settings.host}:{core.settings.port}"
    return f"{request.scheme}://{host}"


def bind(route: Route, core: Core) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """An aiohttp handler. It knows the person before it reads a byte of the body."""
    names = route.path_params

    async def serve(request: web.Request) -> web.StreamResponse:
        given: dict[str, Any] = {"core": core, "request": request}
        if not route.is_open:
            given["who"] = await identify(
                core, request, old_cookie=route.old_cookie, of_yeaft=route.of_yeaft
            )
            given["who"].require(route.scope)
        for name in names:
            given[name] = inputs.read_path(request, name)
        if route.is_ours:
            inputs.check_query(request, route.query)
        if route.query is not None:
            given["query"] = inputs.read_query(request, route.query)
        if route.body is not None:
            given["body"] = await inputs.read_body(
                request, route.body, route.default_body, is_strict=route.is_ours
            )
        if "upload" in route.takes:
            given["upload"] = await inputs.read_upload(request)
        if "files" in route.takes:
            given["files"] = await inputs.read_files(request)
        if "chunks" in route.takes:
            given["chunks"] = inputs.read_chunks(request)
        try:
            result = await route.handler(**{name: given[name] for name in route.takes})
        except NotFound as error:
            if not route.is_open:
                core.refusals.note(given["who"], "rest", error)
            raise
        if route.audit:
            told = {name: given[name] for name in (*names, "body") if name in given}
            await core.trail.done(given["who"], route.audit, told, result)
        if isinstance(result, web.StreamResponse):
            return result
        return json_response(result, route.status)

    async def serve_plainly(request: web.Request) -> web.StreamResponse:
        try:
            return await serve(request)
        except TrunklineError as error:
            return plain_error(error)

    return serve_plainly if route.of_yeaft else serve
