"""The cookie of a browser's login: what it is called, how it is set and taken away.

Behind TLS its name begins with `__Host-`: a browser takes such a one from this very host alone, and
over TLS alone. Elsewhere the name holds the port, because cookies do not: two servers on one host
would be sent each other's secrets.
"""

from collections.abc import Iterator, Mapping
from http.cookies import Morsel, SimpleCookie
from urllib.parse import urlsplit

from trunkline.control.settings import Settings

SECURE = "__Host-trunkline_session"
OLD = "trunkline_session"
"""What it was called for everyone. It opens nothing any more, and is taken away."""


YEAFT = "yeaft_session"
"""The name that Yeaft's page knows. It has neither `__Host-` nor a port, so that it may be another
server's or planted: it opens that page's routes and socket, and nothing else."""


def is_secure(settings: Settings) -> bool:
    return (settings.public_url or "").startswith("https://")


def cookie_name(settings: Settings, host: str | None) -> str:
    """`host`: the request's, as the door has checked it."""
    if is_secure(settings):
        return SECURE
    return f"{OLD}_{_port(settings, host)}"


def _port(settings: Settings, host: str | None) -> int:
    place = settings.public_url or (f"http://{host}" if host else None)
    if place is None:
        return settings.port
    try:
        return urlsplit(place).port or 80
    except ValueError:
        return settings.port


def cookies_of(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names and values that a request carries. The mapping must ignore case."""
    for pair in headers.get("Cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if value:
            yield name, value.strip('"')


def cookie_of(
    headers: Mapping[str, str], settings: Settings, *, of_yeaft: bool = False
) -> str | None:
    """The secret of the login. `of_yeaft`: for what Yeaft's page uses, where its own login counts
    before one on our page, which may be somebody else's or long over."""
    found = dict(cookies_of(headers))
    own = found.get(cookie_name(settings, headers.get("Host")))
    return found.get(YEAFT, own) if of_yeaft else own


def old_cookie_of(headers: Mapping[str, str]) -> str | None:
    return next((value for name, value in cookies_of(headers) if name == OLD), None)


def set_cookie(settings: Settings, host: str | None, value: str, life_s: int) -> str:
    """The header that logs a browser in; with an empty value, the one that logs it out."""
    return _header(cookie_name(settings, host), value, life_s, is_secure=is_secure(settings))


def set_yeaft_cookie(settings: Settings, value: str, life_s: int) -> str:
    return _header(YEAFT, value, life_s, is_secure=is_secure(settings))


def drop_old_cookie() -> str:
    """The header that takes the old one away, which every host and port shares."""
    return _header(OLD, "", 0, is_secure=False)


def _header(name: str, value: str, life_s: int, *, is_secure: bool) -> str:
    cookie: SimpleCookie = SimpleCookie()
    cookie[name] = value
    morsel: Morsel[str] = cookie[name]
    morsel.update({"path": "/", "max-age": str(life_s), "samesite": "Strict"})
    morsel["httponly"] = True
    if is_secure:
        morsel["secure"] = True
    return morsel.OutputString()
