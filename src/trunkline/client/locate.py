"""Which server, and which token: what the environment and the data folder say.

An argument wins over the environment, the environment over the data folder, where a running server
leaves its address (`server.json`) and the admin token (`admin-token`). A server that was found in
the folder proves that it is the folder's on each connection, before it is shown a token there:
after a crash something else may listen on its port.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from trunkline.client.errors import ClientError, NoServer, Unreachable, WrongServer
from trunkline.places import (
    ADMIN_TOKEN_FILE,
    SERVER_FILE,
    ServerFile,
    data_folder,
    proof_of,
    read_server_file,
)


class ServerAccess(msgspec.Struct, frozen=True):
    """A server's address and the token to use there. `key`: what it has to prove that it knows
    before it is shown the token; None where a person has named the server. `folder`: where its key
    stands, which is another one after each start."""

    url: str
    token: str | None
    key: str | None = None
    folder: Path | None = None

    def __repr__(self) -> str:
        return f"ServerAccess(url={self.url!r})"


def find_server(
    url: str | None, token: str | None, data: str | None, env: Mapping[str, str]
) -> ServerAccess:
    """The server that the arguments, the environment and the data folder name; raises NoServer
    without one, ClientError for what cannot be read."""
    folder = data_folder(data or env.get("TRUNKLINE_DATA", ""))
    running = _running(folder)
    running_url = "" if running is None else running.url.rstrip("/")
    named = url or env.get("TRUNKLINE_URL")
    chosen = (named or running_url).rstrip("/")
    if not chosen:
        # No address is guessed: whoever listens there would be shown a token.
        raise NoServer(
            f"no server runs with the data folder {folder}: start one (trunkline up), or name one"
            " (TRUNKLINE_URL)"
        )
    if not chosen.startswith(("http://", "https://")):
        raise ClientError(f"{chosen!r} is no http address")
    secret = token or env.get("TRUNKLINE_TOKEN") or env.get("TRUNKLINE_ADMIN_TOKEN")
    if running is None or chosen != running_url or (named and secret):
        # The folder's token is for the folder's server alone: no other address gets to see it.
        return ServerAccess(chosen, secret)
    if not running.key:
        raise ClientError(f"{folder / SERVER_FILE} is of an older version: start the server again")
    return ServerAccess(chosen, secret or _read(folder / ADMIN_TOKEN_FILE), running.key, folder)


async def check(where: ServerAccess, prove: Callable[[str], Awaitable[str]]) -> None:
    """Before a connection shows a token: that it ends at the server of the data folder. `prove`
    asks there; raises WrongServer, or Unreachable when that server does not run."""
    key = _key_of(where)
    while True:
        nonce = secrets.token_urlsafe(24)
        expected = proof_of(key, nonce, where.url)
        if hmac.compare_digest(expected.encode(), (await prove(nonce)).encode()):
            return
        asked_for, key = key, _key_of(where)
        if key == asked_for:  # it was not started anew meanwhile
            raise WrongServer(
                f"what listens at {where.url} is not the server of this data folder, and is shown"
                " no token: is the server running? (trunkline up)"
            )


def _key_of(where: ServerAccess) -> str:
    """The key that counts now: the server may have been started again."""
    if where.folder is None:
        return where.key or ""
    running = _running(where.folder)
    if running is None or running.url.rstrip("/") != where.url:
        raise Unreachable(f"no server runs at {where.url} with the data folder {where.folder}")
    return running.key


def _running(folder: Path) -> ServerFile | None:
    try:
        return read_server_file(folder)
    except msgspec.MsgspecError as error:
        raise ClientError(f"{folder / SERVER_FILE} is damaged: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ClientError(f"cannot read {folder / SERVER_FILE}: {error}") from error


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ClientError(f"cannot read {path}: {error}") from error
