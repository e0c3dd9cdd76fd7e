"""The head of an HTTP request, as far as the door needs it: which edge it is for, and whose. Pure.

Clients of the original servers connect to `/` with the URL that they already have, and are told
apart by its query. What a secret is worth is for `Auth` to say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from multidict import CIMultiDict

from trunkline.control.access.cookies import cookie_of
from trunkline.control.errors import InvalidRequest
from trunkline.control.machines.secrets import is_device_token
from trunkline.control.settings import Settings
from trunkline.wire.errors import Malformed

VM = "/ws/vm"
MYAGENT = "/ws/myagent"
YEAFT_AGENT = "/ws/yeaft?type=agent"
YEAFT_WEB = "/ws/yeaft?type=web"
AGP = "/ws/agp"

_END = b"\r\n\r\n"
_QUERY_FIELDS_MAX = 60  # a stream may name 50 sessions
_UNSEEN = frozenset("\r\n\0")


@dataclass(slots=True)
class Head:
    """Request line and headers, with the bytes they came from."""

    method: str
    path: str
    query: dict[str, str]
    headers: CIMultiDict[str]
    raw: bytes
    """All bytes read so far: the head, and perhaps what follows it."""
    size: int
    fields: list[tuple[str, str]] = field(default_factory=list)
    """The query as it came, with names that are there more than once."""

    @property
    def is_websocket(self) -> bool:
        return self.headers.get("Upgrade", "").lower() == "websocket"


def parse_head(raw: bytes) -> Head | None:
    """The head, once it is complete; None while it is not."""
    end = raw.find(_END)
    if end < 0:
        return None
    first, *lines = raw[:end].decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise Malformed("not an HTTP/1 request")
    headers: CIMultiDict[str] = CIMultiDict()
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Malformed("a header without a name")
        if _UNSEEN.intersection(value):
            raise Malformed("a line end in a header")  # of which another parser makes two
        headers.add(name, value.strip())
    if len(headers.getall("Host", ())) > 1:
        raise Malformed("more than one Host header")
    path, _, query = parts[1].partition("?")
    try:
        fields = parse_qsl(query, keep_blank_values=True, max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError as error:
        raise Malformed("too many query fields") from error
    return Head(parts[0], unquote(path), dict(fields), headers, raw, end + len(_END), fields)


def wire_of(path: str, query: Mapping[str, str]) -> str:
    """The name under which the wire of a WebSocket is served."""
    if path not in ("/", "/ws/yeaft"):
        return path
    match query.get("type"):
        case "agent":
            return YEAFT_AGENT
        case "web":
            return YEAFT_WEB
    if path != "/":
        raise InvalidRequest("type in the URL must be agent or web")
    if "guid" in query or is_device_token(query.get("token", "")):
        return AGP
    return MYAGENT


def credentials_of(
    headers: Mapping[str, str], settings: Settings, *, of_yeaft: bool = False
) -> str | None:
    """The bearer token, else the page's cookie (`of_yeaft`: that of Yeaft's page first). The
    mapping must ignore case.

    A request with an `Authorization` header of another kind has no credentials: it is not
    quietly served as the person whose cookie happens to be there.
    """
    authorization = headers.get("Authorization")
    if authorization is not None:
        scheme, _, secret = authorization.partition(" ")
        return secret.strip() or None if scheme.lower() == "bearer" else None
    return cookie_of(headers, settings, of_yeaft=of_yeaft)


def secret_of(
    head: Head, settings: Settings, offered: str | None = None, *, of_yeaft: bool = False
) -> str | None:
    """The secret of a socket's client. What was given for this connection (`Authorization`, the
    query, `offered`) counts before the cookie, which a browser always sends."""
    if "Authorization" not in head.headers and (given := head.query.get("token") or offered):
        return given
    return credentials_of(head.headers, settings, of_yeaft=of_yeaft)
