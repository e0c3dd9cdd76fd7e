"""Where a request carries its person's secret: the `Authorization` header or the page's cookie.

Pure: takes headers, returns text. What the secret is worth is for `Auth` to say.
"""

from collections.abc import Mapping

from trunkline.control.access.auth import COOKIE


def credentials_of(headers: Mapping[str, str]) -> str | None:
    """The bearer token, else the session cookie's value. The mapping must ignore case.

    A request with an `Authorization` header of another kind has no credentials: it is not
    quietly served as the person whose cookie happens to be there.
    """
    authorization = headers.get("Authorization")
    if authorization is not None:
        scheme, _, secret = authorization.partition(" ")
        return secret.strip() or None if scheme.lower() == "bearer" else None
    return cookie_of(headers)


def cookie_of(headers: Mapping[str, str]) -> str | None:
    """The value of our cookie in the `Cookie` header."""
    for pair in headers.get("Cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE and value:
            return value.strip('"')
    return None
