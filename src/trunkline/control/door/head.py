"""The head of an HTTP request, as far as the door needs it to choose an edge. Pure."""

from urllib.parse import parse_qsl, unquote

from multidict import CIMultiDict

from trunkline.wire.errors import Malformed

_END = b"\r\n\r\n"
_QUERY_FIELDS_MAX = 50


class Head:
    """Request line and headers, with the bytes they came from."""

    __slots__ = ("headers", "method", "path", "query", "raw", "size")

    def __init__(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        headers: CIMultiDict[str],
        raw: bytes,
        size: int,
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.raw = raw
        """All bytes read so far: the head, and perhaps what follows it."""
        self.size = size

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
        headers.add(name, value.strip())
    path, _, query = parts[1].partition("?")
    try:
        fields = parse_qsl(query, keep_blank_values=True, max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError as error:
        raise Malformed("too many query fields") from error
    return Head(parts[0], unquote(path), dict(fields), headers, raw, end + len(_END))
