"""A running server, for programs of the same user: where it listens, and the proof that it is it.

What stands in the data folder, and why: `trunkline.places`.
"""

import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from trunkline.control.ids import new_secret
from trunkline.places import SERVER_FILE, ServerFile, proof_of, read_server_file
from trunkline.private_files import write_private

NONCE_CHARS_MIN = 16
NONCE_CHARS_MAX = 200


class Presence:
    """Of one running server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = ServerFile(url="", pid=os.getpid(), key=new_secret("pr"))
        self._usable: dict[str, frozenset[str]] = {}
        self._counts: Counter[str] = Counter()
        """Of how many machines each of them is."""

    @property
    def url(self) -> str:
        """Where this host finds the server; empty before it listens."""
        return self._server.url

    def announce(self, url: str) -> None:
        self._write(msgspec.structs.replace(self._server, url=url))

    def _write(self, server: ServerFile) -> None:
        write_private(self._folder / SERVER_FILE, msgspec.json.encode(server))
        self._server = server

    def can_run(self, machine_id: str, usable: Iterable[str]) -> None:
        """What a machine says that it has; nearly always what it said before."""
        told, before = frozenset(usable), self._usable.get(machine_id, frozenset())
        if told == before:
            return
        counts = self._counts + Counter(told)
        counts.subtract(before)
        found = sorted(+counts)
        if found != (self._server.runtimes or []):
            server = msgspec.structs.replace(self._server, runtimes=found)
            if self.url:
                self._write(server)
            self._server = server
        # Not before it is written: a full disk is tried again.
        self._usable[machine_id], self._counts = told, +counts

    def prove(self, nonce: str) -> str:
        return proof_of(self._server.key, nonce, self._server.url)

    def withdraw(self) -> None:
        """Another server's file stays."""
        with suppress(OSError, msgspec.MsgspecError):
            if read_server_file(self._folder) == self._server:
                (self._folder / SERVER_FILE).unlink()
