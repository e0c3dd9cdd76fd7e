"""Local sockets that carry lines: one end of a connection, and where sessions' processes connect.

A session's socket is for one process and one connection. What the lines say is not known here.
"""

import asyncio
import os
import secrets
import select
import shutil
import socket
import struct
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol, cast

import structlog

from trunkline import limits
from trunkline.execution.errors import MessageTooLong
from trunkline.execution.process import family

_log = structlog.get_logger(__name__)

SOCKET_PATH_BYTES_MAX = 107  # sockaddr_un holds 108 with the final zero

_NAME_BYTES = len("/" + "0" * 12 + ".sock")
_PEER = struct.Struct("3i")  # pid, user, group


class Reader(Protocol):
    """Who is told what comes in. Neither method may wait."""

    def on_line(self, line: bytes) -> None:
        """May raise: then the socket is closed for that reason."""

    def on_lost(self, error: Exception | None) -> None:
        """The socket is closed, once; `error` is why, if not by the other side."""


class Lines(asyncio.Protocol):
    """A connection. Nothing is read before `listen`: until then nobody knows who it is."""

    def __init__(
        self, bytes_max: int, on_made: Callable[["Lines"], None] = lambda _self: None
    ) -> None:
        self._bytes_max = bytes_max
        self._on_made = on_made
        self._reader: Reader | None = None
        self._unread = bytearray()
        self._error: Exception | None = None
        self._transport: asyncio.Transport
        self.is_open = False

    def listen(self, reader: Reader) -> None:
        self._reader = reader
        if self.is_open:
            self._transport.resume_reading()
        else:
            reader.on_lost(self._error)

    def send(self, line: bytes) -> None:
        if self.is_open:
            self._transport.write(line)

    @property
    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size() if self.is_open else 0

    @property
    def has_hung_up(self) -> bool:
        """Whether the other end is gone, though what it said last may not be read yet: the kernel
        knows before the event loop does."""
        if not self.is_open:
            return True
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), 0)
        return bool(poll.poll(0))

    @property
    def peer_pid(self) -> int | None:
        """Who is at the other end, as the kernel says; None where it does not."""
        if not family.IS_LINUX:
            return None
        end: socket.socket = self._transport.get_extra_info("socket")
        peer = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        return int(_PEER.unpack(peer)[0])

    def close(self) -> None:
        """Drops the connection at once."""
        if self.is_open:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.pause_reading()
        self.is_open = True
        self._on_made(self)

    def data_received(self, data: bytes) -> None:
        assert self._reader is not None
        start = 0
        try:
            while (end := data.find(b"\n", start)) >= 0:
                self._unread += data[start:end]
                start = end + 1
                line = bytes(self._unread)
                self._unread.clear()
                if len(line) > self._bytes_max:
                    raise MessageTooLong(f"a line of more than {self._bytes_max} bytes")
                self._reader.on_line(line)
            self._unread += data[start:]
            if len(self._unread) > self._bytes_max:
                raise MessageTooLong(f"a line of more than {self._bytes_max} bytes")
        except Exception as error:
            self._error = error
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._error = self._error or error
        if self._reader is not None:
            self._reader.on_lost(self._error)


class SocketFolder:
    """A private folder of sockets: the home's own, or a temporary one where that has too long a
    name for a socket's address."""

    def __init__(self, folder: Path) -> None:
        fits = len(os.fsencode(folder)) + _NAME_BYTES <= SOCKET_PATH_BYTES_MAX
        self._is_temporary = not fits
        self.path = folder if fits else Path(tempfile.mkdtemp(prefix="trunkline-"))
        self.path.chmod(0o700)
        for left in self.path.glob("*.sock"):  # of a daemon that was killed
            left.unlink(missing_ok=True)

    async def open(self) -> "SessionSocket":
        made = SessionSocket(self.path / f"{secrets.token_hex(6)}.sock")
        await made.open()
        return made

    def close(self) -> None:
        if self._is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)


class SessionSocket:
    """A socket that waits for one process. Any other that connects is turned away."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._server: asyncio.Server
        self._arrived: asyncio.Queue[Lines] = asyncio.Queue()

    async def open(self) -> None:
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            os.fchmod(end.fileno(), 0o600)  # before it has a name: no moment of a wider mode
            end.bind(str(self.path))
        except OSError:
            end.close()
            raise
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: Lines(limits.IPC_LINE_BYTES_MAX, self._arrived.put_nowait), sock=end
        )

    async def accept(self, pid: int) -> Lines:
        """The connection of that process."""
        while True:
            lines = await self._arrived.get()
            if lines.peer_pid in (pid, None):
                return lines
            _log.warning("a stranger connected to a session's socket", pid=lines.peer_pid)
            lines.close()

    def close(self) -> None:
        """Nobody else may connect; the connection that was accepted lives on."""
        self._server.close()
        self.path.unlink(missing_ok=True)
        with suppress(asyncio.QueueEmpty):
            while True:
                self._arrived.get_nowait().close()
