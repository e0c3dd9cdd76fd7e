"""Responses: JSON, pages, and errors in their one shape (docs/reference/errors.md).

An unexpected error is logged here with its route; its details never leave the process.
"""

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog
from aiohttp import web
from msgspec import UNSET, UnsetType
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError

from trunkline.control.errors import Conflict, TrunklineError, Unavailable
from trunkline.control.store import causes

_log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
_encode = msgspec.json.Encoder().encode

_CODES = {
    400: "INVALID_REQUEST",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    408: "TIMEOUT",
    413: "TOO_LARGE",
}
_OF_DISKS = (OSError, sqlite3.Error)
"""What a file or the log's own database raises; the records' says itself what is wrong."""
_SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_JSON_HEADERS = _SAFE | {"Cache-Control": "no-store"}
PAGE_HEADERS = _SAFE | {
    "Cache-Control": "no-cache",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}


class ErrorBody(msgspec.Struct):
    """`code` is stable and meant for programs, `message` for people. `details`: of some codes, what
    the message says, for programs."""

    code: str
    message: str
    details: dict[str, str | int] | UnsetType = UNSET


class ErrorAnswer(msgspec.Struct):
    """The shape of every error."""

    error: ErrorBody


class PlainError(msgspec.Struct, kw_only=True):
    """The shape of an error under `/api/auth`, `/api/user` and `/api/upload`."""

    success: bool = False
    error: str


def json_response(value: Any, status: int = 200) -> web.Response:
    """A struct as JSON; None as an empty response."""
    if value is None:
        return web.Response(status=204 if status == 200 else status, headers=_JSON_HEADERS)
    return web.Response(
        body=_encode(value), status=status, content_type="application/json", headers=_JSON_HEADERS
    )


def page_response(html: str, status: int = 200) -> web.Response:
    return web.Response(text=html, status=status, content_type="text/html", headers=PAGE_HEADERS)


def error_response(error: TrunklineError) -> web.Response:
    response = _error(error.status, error.code, error.message, error.details)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def plain_error(error: TrunklineError) -> web.Response:
    """The same for pages that show `error` as it is."""
    return json_response(PlainError(error=_readable(error.message)), error.status)


def _error(
    status: int, code: str, message: str, details: dict[str, str | int] | None = None
) -> web.Response:
    body = ErrorBody(code, _readable(message), UNSET if details is None else details)
    return json_response(ErrorAnswer(body), status)


def _readable(message: str) -> str:
    """A message may quote what the caller sent; half characters cannot be written as JSON."""
    return message.encode(errors="replace").decode()


async def handle_errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Runs a handler; whatever it raises becomes a response."""
    try:
        return await handler(request)
    except TrunklineError as error:
        if error.status >= 500:
            _log.info("request refused", route=_route(request), code=error.code, error=str(error))
        return error_response(error)
    except web.HTTPException as error:
        return _from_http(request, error)
    except IntegrityError:
        return error_response(Conflict("another change to the same records came in between"))
    except (OperationalError, InterfaceError):
        _log.exception("database failed", route=_route(request))
        return error_response(Unavailable("the database does not answer"))
    except ConnectionError:
        raise  # the caller has gone; nobody is left to respond to
    except Exception as error:
        _log.exception("request crashed", route=_route(request))
        if isinstance(error, _OF_DISKS) and (cause := causes.cause_of(error)) is not None:
            return error_response(causes.refusal(cause))
        return error_response(TrunklineError("something went wrong here; the log says what"))


def _from_http(request: web.Request, error: web.HTTPException) -> web.Response:
    if error.status < 400:
        raise error
    code = _CODES.get(error.status, f"HTTP_{error.status}")
    messages = {
        404: f"nothing is at {request.path[:200]!r}",
        405: f"{request.method} is not possible at {request.path[:200]!r}",
    }
    response = _error(error.status, code, messages.get(error.status, error.reason))
    if "Allow" in error.headers:
        response.headers["Allow"] = error.headers["Allow"]
    return response


def _route(request: web.Request) -> str:
    """The route's pattern: it names no record and holds no secret."""
    resource = request.match_info.route.resource
    return f"{request.method} {resource.canonical if resource else '(none)'}"
