"""What a shell completes a name to, asked of the server as one presses Tab.

It has to be there at once, and to be silent when it has nothing to say: no server, no token, an
older server, a slow one. So it speaks HTTP by itself, without the client, for a second at most.
"""

import json
import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from trunkline.client.locate import ServerAccess

Json = dict[str, Any]

_LIMIT = 50
_WAIT_S = 1.0
_ANSWER_BYTES_MAX = 256 * 1024
_ITEM_CHARS_MAX = 80
_COMPLETING = "_TRUNKLINE_COMPLETE"  # typer's; which shell asks
_PLAIN = re.compile(r"[\w@%+./-]+")
_SPECIAL = re.compile(r"([^\w@%+=:,./-])", re.ASCII)


class _Fitting(str):
    """Typer leaves out what does not begin, letter by letter, with what was typed. The server has
    looked at that: names fit in any case, and one that is escaped for a shell begins otherwise."""

    def startswith(self, *_typed: Any) -> bool:
        return True


def completion(kind: str) -> Callable[[typer.Context, str], list[tuple[str, str]]]:
    """For `autocompletion` of a parameter that names a record of that kind."""

    def complete(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        chosen = [context.params.get(name) for name in ("url", "token", "data")]
        try:
            found = candidates(kind, incomplete, *chosen)
        except Exception:  # a line of a shell is no place for anything that went wrong
            return []
        is_bash = os.environ.get(_COMPLETING, "").endswith("bash")
        return [(_Fitting(_for_bash(value) if is_bash else value), text) for value, text in found]

    return complete


def candidates(
    kind: str, incomplete: str, url: str | None, token: str | None, data: str | None
) -> list[tuple[str, str]]:
    """What can be written there, each with a few words about it."""
    from trunkline.cli.remote import find_server

    where = find_server(url, token, data, os.environ)
    return values(_ask(where, kind, incomplete))


def values(items: list[Json]) -> list[tuple[str, str]]:
    """A name where it tells one record from the others and can be written in a line; else its id,
    also where the id is what somebody began to write."""
    names = [str(one["name"]).lower() for one in items]
    found = []
    for one in items:
        name, record_id = str(one["name"]), str(one["id"])
        is_usable = name.isprintable() and 0 < len(name.strip()) == len(name) <= _ITEM_CHARS_MAX
        is_named = is_usable and names.count(name.lower()) == 1 and one["match"] != "id_prefix"
        value, other = (name, "") if is_named else (record_id, name)
        text = ", ".join(part for part in (other, str(one["detail"])) if part)
        found.append((value, _printable(text)[:_ITEM_CHARS_MAX]))
    return found


def _ask(where: "ServerAccess", kind: str, incomplete: str) -> list[Json]:
    from http.client import HTTPConnection, HTTPSConnection
    from urllib.parse import quote, urlsplit

    ends_at = time.monotonic() + _WAIT_S
    address = urlsplit(where.url)
    made = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = made(address.hostname or "", address.port, timeout=_WAIT_S)
    try:
        if where.key is not None and not _proves(connection, where, address.path):
            return []
        left_s = ends_at - time.monotonic()
        if left_s <= 0:
            return []
        if connection.sock is not None:
            connection.sock.settimeout(left_s)
        headers = {} if where.token is None else {"Authorization": f"Bearer {where.token}"}
        path = f"{address.path}/api/v1/lookup/{kind}?limit={_LIMIT}&q={quote(incomplete, safe='')}"
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            return []
        items: list[Json] = json.loads(response.read(_ANSWER_BYTES_MAX))["items"]
        return items
    finally:
        connection.close()


def _proves(connection: "HTTPConnection", where: "ServerAccess", path: str) -> bool:
    """Whether this is the server of the data folder; it is shown no token before."""
    import hmac
    import secrets

    from trunkline.places import proof_of

    nonce = secrets.token_urlsafe(24)
    body = json.dumps({"nonce": nonce})
    connection.request("POST", f"{path}/proof", body, {"Content-Type": "application/json"})
    said = json.loads(connection.getresponse().read(_ANSWER_BYTES_MAX))
    connection.auto_open = 0  # the token goes out on this connection or not at all
    expected = proof_of(where.key or "", nonce, where.url)
    return hmac.compare_digest(expected.encode(), str(said.get("proof", "")).encode())


def _for_bash(value: str) -> str:
    """Bash writes it as it is given; other shells escape it themselves."""
    return value if _PLAIN.fullmatch(value) else _SPECIAL.sub(r"\\\1", value)


def _printable(text: str) -> str:
    return "".join(one for one in text if one.isprintable())
