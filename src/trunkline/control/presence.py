"""How programs of the same user find a running server, and know that it is the one they mean.

The server leaves its address in the data folder (`server.json`), and a key that is new at each
start. Whoever can read the file can ask for a proof of that key before a token is shown; another
program that listens on the port has no key. The file goes with the server; one that a killed server
left behind proves nothing.
"""

import hashlib
import hmac
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from trunkline.control.ids import new_secret
from trunkline.private_files import write_private

FILE = "server.json"
NONCE_CHARS_MIN = 16
NONCE_CHARS_MAX = 200


class ServerFile(msgspec.Struct, frozen=True):
    """What `server.json` holds. `key` is a secret."""

    url: str
    pid: int = 0
    key: str = ""

    def __repr__(self) -> str:
        return f"ServerFile(url={self.url!r}, pid={self.pid})"


def read_server_file(folder: Path) -> ServerFile | None:
    """None without one; raises OSError, or what msgspec raises for one that is damaged."""
    try:
        raw = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(raw, type=ServerFile)


def proof_of(key: str, nonce: str, url: str) -> str:
    """What the server of that key answers. The address is part of it: a program that listens
    elsewhere cannot pass the question on and show the answer as its own."""
    said = f"trunkline server\n{url}\n{nonce}"
    return hmac.new(key.encode(), said.encode(), hashlib.sha256).hexdigest()


class Presence:
    """Of one running server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = ServerFile(url="", pid=os.getpid(), key=new_secret("pr"))

    @property
    def url(self) -> str:
        """Where this host finds the server; empty before it listens."""
        return self._server.url

    def announce(self, url: str) -> None:
        self._server = msgspec.structs.replace(self._server, url=url)
        write_private(self._folder / FILE, msgspec.json.encode(self._server))

    def prove(self, nonce: str) -> str:
        return proof_of(self._server.key, nonce, self._server.url)

    def withdraw(self) -> None:
        """Another server's file stays."""
        with suppress(OSError, msgspec.MsgspecError):
            if read_server_file(self._folder) == self._server:
                (self._folder / FILE).unlink()
