"""The request with which a WebSocket begins (RFC 6455, 4.2.1). Pure.

The door refuses here what is none, with a reason; picows is handed a plain one, because it knows
only a `Connection` of one word, and Firefox sends `keep-alive, Upgrade`.
"""

import re
from typing import Final

from trunkline.control.door.head import AGP, MYAGENT, VM, YEAFT_AGENT, YEAFT_WEB, Head, wire_of
from trunkline.control.errors import InvalidRequest

_NAMES: Final = {
    VM: "semibot",
    MYAGENT: "myagent",
    AGP: "agp",
    YEAFT_AGENT: "yeaft",
    YEAFT_WEB: "yeaft",
}
_VERSIONS = frozenset(("13", "8", "7"))  # the last drafts differ in nothing that matters here
_KEY = re.compile(r"[A-Za-z0-9+/]{22}==")


def name_of(head: Head) -> str:
    """What log and counts call the wire that is asked for; `http` without an upgrade."""
    if not head.is_websocket:
        return "http"
    try:
        return _NAMES.get(wire_of(head.path, head.query), "websocket")
    except InvalidRequest:
        return "yeaft"


def check_upgrade(head: Head) -> None:
    """Raises `InvalidRequest` for what claims to be a WebSocket and is not."""
    if not head.raw.partition(b"\r\n")[0].endswith(b"HTTP/1.1") or head.method != "GET":
        raise InvalidRequest("a WebSocket begins with a GET of HTTP/1.1")
    named = ",".join(head.headers.getall("Connection", ())).lower()
    if "upgrade" not in {one.strip() for one in named.split(",")}:
        raise InvalidRequest("the Connection header does not name Upgrade")
    lengths = {*head.headers.getall("Content-Length", ())}
    if "Transfer-Encoding" in head.headers or lengths - {"0"}:
        raise InvalidRequest("a WebSocket's first request has no body")
    if head.headers.get("Sec-WebSocket-Version") not in _VERSIONS:
        raise InvalidRequest("Sec-WebSocket-Version is missing, or not 13")
    if _KEY.fullmatch(head.headers.get("Sec-WebSocket-Key", "")) is None:
        raise InvalidRequest("Sec-WebSocket-Key is missing, or not 16 bytes as base64")


def plain_request(head: Head) -> bytes:
    """The same request with no more than it needs, and what came behind it."""
    key = head.headers["Sec-WebSocket-Key"].encode()
    return (
        b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + b"\r\n\r\n"
    ) + head.raw[head.size :]
