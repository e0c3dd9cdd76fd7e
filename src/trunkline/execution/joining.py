"""How a machine joins: it turns a code into credentials, keeps them in its home, fetches new ones.

A token ends after some hours; the secret that came with it fetches the next one for as long as the
machine is wanted, so a machine that was off for weeks comes back by itself.
"""

import asyncio
import hashlib
import socket
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import aiohttp
import msgspec
import structlog
from msgspec import Meta
from yarl import URL

from trunkline import limits
from trunkline.execution import logs
from trunkline.execution.errors import LineEnd, NoLine, ServerRefused, SettingsError
from trunkline.execution.home import Home
from trunkline.execution.reaching import why_refused, why_unreached
from trunkline.private_files import write_private

_log = structlog.get_logger(__name__)

_WAIT_S = 20.0
_ANSWER_BYTES_MAX = 64 * 1024
_LIMITED_TRIES = 5
_LIMITED_PAUSE_S = 2.0
_BROKEN = 1006

AGAIN = "`trunkline machine add`, where the server is, prints the line to run here"

Text = Annotated[str, Meta(min_length=1, max_length=limits.VM_TOKEN_CHARS_MAX)]


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """`url`: the server's, as this machine reaches it. `token` and `secret` are secrets."""

    url: Text
    user_id: Text
    machine_id: Text
    token: Text
    secret: Text
    code_hash: str = ""
    """Of the code that it joined with: whoever runs the same line again means this machine."""

    def __repr__(self) -> str:
        return f"Joined(url={self.url!r}, machine_id={self.machine_id!r})"

    @property
    def ws_url(self) -> str:
        """By the address that is known to work, whatever the server calls itself."""
        return "ws" + self.url.removeprefix("http") + "/ws/vm"


class _Credentials(msgspec.Struct):
    user_id: Text
    machine_id: Text
    token: Text
    ticket: Text
    secret: Text


class _Problem(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Refusal(msgspec.Struct):
    error: _Problem


def checked_url(text: str) -> str:
    """Raises SettingsError."""
    try:
        url = URL(text.strip())
    except ValueError:
        url = URL()
    is_plain = not (url.query_string or url.fragment or url.user or url.password)
    if url.scheme not in ("http", "https") or not url.host or not is_plain:
        raise SettingsError("--url must be like https://name.example or http://192.168.1.5:8080")
    return str(url).rstrip("/")


def read(home: Home) -> Joined | None:
    """What was kept in this home; None where no machine has joined. Raises SettingsError."""
    try:
        return msgspec.json.decode(home.joined_file.read_bytes(), type=Joined)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SettingsError(f"{home.joined_file} cannot be read ({error}): {AGAIN}") from error


def keep(home: Home, joined: Joined) -> None:
    write_private(home.joined_file, msgspec.json.encode(joined))


def is_of_code(joined: Joined | None, code: str, url: str) -> bool:
    """Whether that code was what this machine joined with."""
    return joined is not None and joined.code_hash == _digest(code) and joined.url == url


async def redeem(
    url: str, code: str, *, sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep
) -> tuple[Joined, str]:
    """What the code is good for, and the ticket of the first connection. Raises NoLine,
    ServerRefused."""
    body = {"code": code, "name": _own_name()}
    for left in reversed(range(_LIMITED_TRIES)):
        status, raw = await _post(url, "join", body)
        if status != 429 or not left:
            break
        await sleep(_LIMITED_PAUSE_S)
    found = _checked(url, status, raw)
    joined = Joined(
        url=url,
        user_id=found.user_id,
        machine_id=found.machine_id,
        token=found.token,
        secret=found.secret,
        code_hash=_digest(code),
    )
    return joined, found.ticket


class Membership:
    """Keeps a running machine's credentials, on disk too."""

    def __init__(self, home: Home, joined: Joined) -> None:
        self._home = home
        self._joined = joined
        logs.hide([joined.token, joined.secret])

    def renewed(self, token: str) -> None:
        """The server has sent the token of the next line."""
        self._joined = msgspec.structs.replace(self._joined, token=token)
        try:
            keep(self._home, self._joined)
        except OSError as error:
            # The secret is there: the next start fetches a token with it.
            _log.error("the new token cannot be kept", problem=str(error))

    async def fetch(self) -> str:
        """A new token in place of one that was refused. Raises NoLine, ServerRefused."""
        url = self._joined.url
        try:
            found = _checked(url, *await _post(url, "join/renew", {"secret": self._joined.secret}))
        except ServerRefused as error:
            raise ServerRefused(
                f"{error.message}. There, `trunkline machine add --machine"
                f" {self._joined.machine_id}` lets it in again"
            ) from error
        logs.hide([found.token, found.ticket])
        _log.info("fetched a new token")
        self.renewed(found.token)
        return found.token


async def _post(url: str, path: str, body: dict[str, str]) -> tuple[int, bytes]:
    """Status and body. Raises NoLine."""
    address = URL(f"{url}/api/v1/{path}")
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_WAIT_S)) as http,
            http.post(address, json=body, allow_redirects=False) as answer,
        ):
            return answer.status, await answer.content.read(_ANSWER_BYTES_MAX)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise NoLine(LineEnd(_BROKEN, why_unreached(error, address))) from None


def _checked(url: str, status: int, raw: bytes) -> _Credentials:
    said = ""
    try:
        if status < 300:
            return msgspec.json.decode(raw, type=_Credentials)
        said = msgspec.json.decode(raw, type=_Refusal).error.message
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    why = why_refused(status, URL(url), said)
    if said and status in (401, 403, 410):
        raise ServerRefused(why)
    raise NoLine(LineEnd(status, why))


def _own_name() -> str:
    name = "".join(one for one in socket.gethostname() if one.isprintable()).strip()
    return name[: limits.NAME_CHARS_MAX] or "machine"


def _digest(code: str) -> str:
    plain = code.upper().replace("-", "").replace(" ", "")
    return hashlib.sha256(plain.encode(errors="replace")).hexdigest()
