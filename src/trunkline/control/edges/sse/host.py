"""What stands behind every connection that is written server-sent events: who is let in,
heartbeats, revoked tokens, the end."""

import asyncio
import socket
from socket import AF_INET, AF_INET6

import structlog

from trunkline.control.core import Core
from trunkline.control.door.door import STREAM, refuse
from trunkline.control.door.head import Head, credentials_of
from trunkline.control.door.origin import cors_headers
from trunkline.control.edges.sse import account, session
from trunkline.control.edges.sse.connection import SseConnection
from trunkline.control.errors import TrunklineError, Unauthorized
from trunkline.wire import sse

_log = structlog.get_logger(__name__)

_HEAD = (
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: text/event-stream; charset=utf-8\r\n"
    "Cache-Control: no-store\r\n"
    "X-Accel-Buffering: no\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Connection: close\r\n"
)
_RETURN_AFTER_MS = 1000
UNHEARD_MS = 60_000
"""How long what was written to a reader may stay unconfirmed."""


class SseHost:
    """Every such connection of this control plane."""

    is_machines = False

    def __init__(self, core: Core) -> None:
        self.core = core
        # One bucket for each second between two heartbeats, so that they do not all fall due
        # at once.
        self._buckets: list[set[SseConnection]] = [
            set() for _ in range(int(core.tuning.reader_heartbeat_s))
        ]
        self._now = 0
        self._sign = sse.HEARTBEAT
        """What every reader hears now and then."""
        core.signals.revoked.watch(self._revoked)
        core.signals.stalls.watch(self._stalled)

    def matches(self, head: Head) -> bool:
        return head.method == "GET" and _kind_of(head.path) is not None

    def accept(self, transport: asyncio.Transport, head: Head) -> None:
        kind = _kind_of(head.path)
        assert kind is not None
        connection = kind(transport, self)
        transport.set_protocol(connection)
        _end_when_unheard(transport)
        self.core.tasks.spawn(self._serve(connection, head), "sse reader")

    async def _serve(self, connection: SseConnection, head: Head) -> None:
        transport = connection.transport
        try:
            await self._admit(connection, head)
        except Exception as error:
            connection.ended()
            if isinstance(error, TrunklineError):
                self.core.handshakes.refused(STREAM, head.path, error)
            refuse(transport, error)
            return
        if transport.is_closing():
            connection.ended()  # it left before it was let in
            return
        extra = cors_headers(head.headers.get("Origin"), self.core.settings)
        lines = "".join(f"{name}: {value}\r\n" for name, value in extra.items())
        transport.write(f"{_HEAD}{lines}\r\n".encode())
        connection.is_counted = True
        self.core.metrics.readers += 1
        self._buckets[self._now - 1].add(connection)
        if self._sign is not sse.HEARTBEAT:
            connection.write(self._sign)
        try:
            await connection.begin(head)
        except Exception:
            _log.exception("a replay failed; the reader is sent away", reader=str(connection))
            transport.abort()
            return
        if transport.is_closing():
            self.ended(connection)

    async def _admit(self, connection: SseConnection, head: Head) -> None:
        secret = credentials_of(head.headers, self.core.settings)
        if secret is None:
            raise Unauthorized("a bearer token or a login is needed")
        who = await self.core.auth.identify(secret)
        who.require("read")
        connection.token_id = who.token_id
        await connection.admit(who, head)
        if await self.core.auth.identify(secret) != who:
            raise Unauthorized("the token's rights have just changed")
        self.core.connections.known(connection.transport, who.user_id)

    def ended(self, connection: SseConnection) -> None:
        connection.ended()
        if not connection.is_counted:
            return
        connection.is_counted = False
        self.core.metrics.readers -= 1
        for bucket in self._buckets:
            bucket.discard(connection)

    def cut(self, connection: SseConnection) -> None:
        """A reader that does not read."""
        self.core.metrics.readers_cut += 1
        _log.warning("reader cut: it does not read", reader=str(connection))
        connection.transport.abort()

    def _revoked(self, token_id: str) -> None:
        """A token was revoked or has expired: whoever came with it is shown the door."""
        for bucket in self._buckets:
            for connection in [one for one in bucket if one.token_id == token_id]:
                connection.transport.abort()

    def sweep(self) -> None:
        """Once a second: heartbeats for the readers whose turn it is."""
        self._now = (self._now + 1) % len(self._buckets)
        for connection in list(self._buckets[self._now]):
            connection.write(self._sign)

    def _stalled(self, cause: str | None) -> None:
        """Nothing is committed, or is again: no event says so, because none can be written."""
        self._sign = sse.HEARTBEAT if cause is None else sse.stands_still(cause)
        self._tell_all(sse.GOES_ON if cause is None else self._sign)

    def _tell_all(self, data: bytes) -> None:
        for connection in [one for bucket in self._buckets for one in bucket]:
            connection.write(data)

    def say_goodbye(self) -> None:
        """The control plane goes down: readers are told when to come back."""
        farewell = sse.goodbye("the server is going down", _RETURN_AFTER_MS)
        for bucket in self._buckets:
            for connection in bucket:
                connection.write(farewell)
                connection.transport.close()


def _end_when_unheard(transport: asyncio.Transport) -> None:
    """A reader that went without a word, as phones do, is not taken for one that looks on for the
    quarter of an hour that TCP tries."""
    sock = transport.get_extra_info("socket")
    option = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux only
    if option is not None and sock is not None and sock.family in (AF_INET, AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, option, UNHEARD_MS)


def _kind_of(path: str) -> type[SseConnection] | None:
    if path == account.PATH:
        return account.AccountStream
    return session.SessionReader if session.PATH.fullmatch(path) is not None else None
