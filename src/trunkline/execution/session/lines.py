"""One end of a local socket that carries lines, for asyncio. Knows nothing of what they say."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Protocol, cast

from trunkline.execution.session import family

_PEER = struct.Struct("3i")  # pid, user, group


class LineTooLong(Exception):
    """The other side wrote a line over the bound."""


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

    # --- asyncio --------------------------------------------------------------------------------

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
                    raise LineTooLong
                self._reader.on_line(line)
            self._unread += data[start:]
            if len(self._unread) > self._bytes_max:
                raise LineTooLong
        except Exception as error:
            self._error = error
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._error = self._error or error
        if self._reader is not None:
            self._reader.on_lost(self._error)
