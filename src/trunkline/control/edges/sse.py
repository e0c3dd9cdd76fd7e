"""The SSE edge: readers of one session's events (docs/protocols/events.md#server-sent-events).

A reader is a transport and a few bytes; what is written to it was encoded once for all readers
of the session.
"""

import asyncio
import re

import structlog

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.door.door import refuse
from trunkline.control.door.head import Head, credentials_of
from trunkline.control.door.origin import cors_headers
from trunkline.control.errors import LimitReached, NotFound, Unauthorized
from trunkline.control.log.log import Batch, SessionLog
from trunkline.wire import sse

_log = structlog.get_logger(__name__)

_PATH = re.compile(r"/api/v1/sessions/([^/]+)/stream")
_HEAD = (
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: text/event-stream; charset=utf-8\r\n"
    "Cache-Control: no-store\r\n"
    "X-Accel-Buffering: no\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Connection: close\r\n"
)
_RETURN_AFTER_MS = 1000


class SseReader(asyncio.Protocol):
    """One reader's connection."""

    __slots__ = ("_edge", "log", "token_id", "transport")

    def __init__(self, transport: asyncio.Transport, edge: "SseEdge") -> None:
        self.transport = transport
        self.token_id = ""
        self.log: SessionLog | None = None
        self._edge = edge

    def deliver(self, batch: Batch) -> None:
        self.write(batch.sse)

    def resync(self) -> None:
        self.write(sse.RESYNC)

    def write(self, data: bytes) -> None:
        transport = self.transport
        if transport.get_write_buffer_size() > limits.READER_UNSENT_BYTES_MAX:
            # It does not read. It is cut here, slows nobody, and replays when it comes back.
            self._edge.cut(self)
        elif not transport.is_closing():
            transport.write(data)

    def data_received(self, data: bytes) -> None:
        """A reader has nothing more to say; what it says is dropped."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._edge.ended(self)


class SseEdge:
    """Every SSE reader of this control plane."""

    is_machines = False

    def __init__(self, core: Core) -> None:
        self._core = core
        # One bucket for each second between two heartbeats, so that they do not all fall due
        # at once.
        self._buckets: list[set[SseReader]] = [
            set() for _ in range(int(core.tuning.reader_heartbeat_s))
        ]
        self._now = 0
        core.auth.on_revoke(self._revoked)

    def matches(self, head: Head) -> bool:
        return head.method == "GET" and _PATH.fullmatch(head.path) is not None

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        reader = SseReader(transport, self)
        transport.set_protocol(reader)
        self._core.tasks.spawn(self._serve(reader, head), "sse reader")

    async def _serve(self, reader: SseReader, head: Head) -> None:
        try:
            log = await self._admit(reader, head)
        except Exception as error:
            refuse(reader.transport, error)
            return
        if reader.transport.is_closing():
            return  # it left before it was let in
        extra = cors_headers(head.headers.get("Origin"), self._core.settings)
        lines = "".join(f"{name}: {value}\r\n" for name, value in extra.items())
        reader.transport.write(f"{_HEAD}{lines}\r\n".encode())
        reader.log = log
        self._core.metrics.readers += 1
        self._buckets[self._now - 1].add(reader)
        try:
            await self._core.log.follow(log, reader, self._position(head))
        except Exception:
            _log.exception("a replay failed; the reader is sent away", session=log.session_id)
            reader.transport.abort()
            return
        if reader.transport.is_closing():
            self.ended(reader)  # it left while its replay was read from disk
            log.detach(reader)

    async def _admit(self, reader: SseReader, head: Head) -> SessionLog:
        secret = credentials_of(head.headers, self._core.settings)
        if secret is None:
            raise Unauthorized("a bearer token or a login is needed")
        who = await self._core.auth.identify(secret)
        who.require("read")
        reader.token_id = who.token_id
        match = _PATH.fullmatch(head.path)
        assert match is not None
        try:
            log = await self._core.sessions.readable(who, match[1])
        except NotFound as error:
            self._core.refusals.note(who, "sse", error)
            raise
        if await self._core.auth.identify(secret) != who:
            raise Unauthorized("the token's rights have just changed")
        if len(log.readers) >= limits.READERS_PER_SESSION_MAX:
            raise LimitReached("too many readers follow this session")
        self._core.connections.known(reader.transport)
        return log

    def _position(self, head: Head) -> int | None:
        """Where the reader wants to go on; the header, which browsers set, wins."""
        text = head.headers.get("Last-Event-ID")
        if text is None:
            text = head.query.get("last_event_id", "0")
        return sse.position(text.strip()) if text.strip() else 0

    def ended(self, reader: SseReader) -> None:
        if reader.log is None:
            return
        reader.log.detach(reader)
        reader.log = None
        self._core.metrics.readers -= 1
        for bucket in self._buckets:
            bucket.discard(reader)

    def cut(self, reader: SseReader) -> None:
        """A reader that does not read."""
        self._core.metrics.readers_cut += 1
        _log.warning("reader cut: it does not read", session=reader.log and reader.log.session_id)
        reader.transport.abort()

    def _revoked(self, token_id: str) -> None:
        """A token was revoked or has expired: whoever came with it is shown the door."""
        for bucket in self._buckets:
            for reader in [one for one in bucket if one.token_id == token_id]:
                reader.transport.abort()

    def sweep(self) -> None:
        """Once a second: heartbeats for the readers whose turn it is."""
        self._now = (self._now + 1) % len(self._buckets)
        for reader in list(self._buckets[self._now]):
            reader.write(sse.HEARTBEAT)

    def say_goodbye(self) -> None:
        """The control plane goes down: readers are told when to come back."""
        farewell = sse.goodbye("the server is going down", _RETURN_AFTER_MS)
        for bucket in self._buckets:
            for reader in bucket:
                reader.write(farewell)
                reader.transport.close()
