"""Which names this server answers to, and which pages may call it (DNS rebinding, cross-site).

Pure: every edge that serves browsers (HTTP, SSE, WebSocket) asks here with the headers it got.
A caller without an `Origin` header is no page, so only the host is checked for it.
"""

import ipaddress
from urllib.parse import urlsplit

from trunkline.control.errors import Forbidden
from trunkline.control.settings import Settings

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PREFLIGHT_S = "600"


def check_host(host: str | None, settings: Settings) -> None:
    """Refuses a request that was sent to a name which is not ours.

    A page that rebinds its own name to our address still sends that name. The port is free: it
    differs behind a tunnel or proxy and says nothing about who is asking. Browsers always send
    `Host`; a caller without one is a probe that speaks HTTP/1.0.
    """
    if host is None:
        return
    name, _ = _split_host(host)
    if name in _LOCAL_NAMES or name in _own_names(settings):
        return
    if not settings.is_loopback and _is_address(name):
        return
    raise Forbidden(
        f"this server does not answer to the name {name[:100]!r}: set public_url to use it",
        code="HOST_REFUSED",
    )


def is_local_name(host: str | None) -> bool:
    """Whether a request was sent to this host by a name that only this host has. A proxy that
    adds no header of its own still passes on the name that its caller used."""
    return host is None or _split_host(host)[0] in _LOCAL_NAMES


def check_origin(origin: str | None, host: str | None, settings: Settings) -> None:
    """Refuses a call from a page that is neither our own nor an allowed one."""
    if origin is None or is_allowed_origin(origin, settings):
        return
    if host is not None and _is_same_origin(origin, host):
        return
    raise Forbidden(
        f"pages of {origin[:200]!r} may not call this server: see allowed_origins",
        code="ORIGIN_REFUSED",
    )


def is_allowed_origin(origin: str, settings: Settings) -> bool:
    """Whether a setting names this origin."""
    return origin.lower() in _allowed_origins(settings)


def cors_headers(origin: str | None, settings: Settings) -> dict[str, str]:
    """What lets a page of an allowed origin read our response. Empty for everyone else.

    Credentials are not allowed: such a page brings a bearer token, never the cookie.
    """
    if origin is None or not is_allowed_origin(origin, settings):
        return {}
    return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}


def preflight_headers(origin: str | None, settings: Settings) -> dict[str, str]:
    """The response to `OPTIONS` with `Access-Control-Request-Method`."""
    headers = cors_headers(origin, settings)
    if headers:
        headers |= {
            "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
            "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
            "Access-Control-Max-Age": _PREFLIGHT_S,
        }
    return headers


def _allowed_origins(settings: Settings) -> set[str]:
    named = {item.strip().rstrip("/").lower() for item in settings.allowed_origins.split(",")}
    if settings.public_url:
        parts = urlsplit(settings.public_url)
        named.add(f"{parts.scheme}://{parts.netloc}".lower())
    return named - {"", "null"}


def _own_names(settings: Settings) -> set[str]:
    names = {settings.host.lower()}
    if settings.public_url:
        names.add((urlsplit(settings.public_url).hostname or "").lower())
    return names - {"", "0.0.0.0", "::"}  # noqa: S104 - compared, not bound


def _is_same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin.lower())
        default = _DEFAULT_PORTS.get(parts.scheme)
        if default is None or parts.path or parts.query or parts.username is not None:
            return False
        name, port = _split_host(host)
        return (parts.hostname, parts.port or default) == (name, port or default)
    except ValueError:
        return False


def _split_host(host: str) -> tuple[str, int | None]:
    """Name and port of a `Host` header; empty when it is malformed."""
    try:
        parts = urlsplit(f"//{host.strip().lower()}")
        if parts.path or parts.query or parts.fragment or parts.username is not None:
            return "", None
        return (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return "", None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
