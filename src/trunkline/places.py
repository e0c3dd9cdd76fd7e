"""Where a user's files of this program are, and how a running server is found among them.

The server leaves its address in the data folder (`server.json`), and a key that is new at each
start. Whoever can read the file can ask for a proof of that key before a token is shown; another
program that listens on the port has no key. The file goes with the server; one that a killed server
left behind proves nothing.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

SERVER_FILE = "server.json"
ADMIN_TOKEN_FILE = "admin-token"  # noqa: S105 - a name, no secret


class ServerFile(msgspec.Struct, frozen=True):
    """What `server.json` holds. `key` is a secret."""

    url: str
    pid: int = 0
    key: str = ""
    runtimes: list[str] | None = None
    """What its machines can run, programs of the runtime acp as `acp:NAME`; None while none has
    said it. For help, which asks nobody."""

    def __repr__(self) -> str:
        return f"ServerFile(url={self.url!r}, pid={self.pid})"


def read_server_file(folder: Path) -> ServerFile | None:
    """None without one; raises OSError, or what msgspec raises for one that is damaged."""
    try:
        raw = (folder / SERVER_FILE).read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(raw, type=ServerFile)


def proof_of(key: str, nonce: str, url: str) -> str:
    """What the server of that key answers. The address is part of it: a program that listens
    elsewhere cannot pass the question on and show the answer as its own."""
    said = f"trunkline server\n{url}\n{nonce}"
    return hmac.new(key.encode(), said.encode(), hashlib.sha256).hexdigest()


def data_folder(named: str) -> Path:
    """Where the server of this user keeps its files; `named` is empty where nobody chose one."""
    if named:
        return Path(named).expanduser()
    return user_folder(os.environ, "XDG_DATA_HOME", "~/.local/share")


def user_folder(env: Mapping[str, str], variable: str, usual: str) -> Path:
    """This program's own below a folder of the user's. A relative one would be another one in each
    folder that the program is started in, so it does not count."""
    base = Path(env.get(variable) or usual).expanduser()
    if not base.is_absolute():
        base = Path(usual).expanduser()
    return base / "trunkline"
