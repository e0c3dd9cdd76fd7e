"""A reader of one session's events (docs/protocols/events.md#server-sent-events).

What is written to it was encoded once for all readers of the session.
"""

import asyncio
import re
from typing import TYPE_CHECKING

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.door.head import Head
from trunkline.control.edges.sse.connection import SseConnection
from trunkline.control.errors import LimitReached, NotFound
from trunkline.control.log.session_log import Batch, SessionLog
from trunkline.wire import sse

if TYPE_CHECKING:
    from trunkline.control.edges.sse.host import SseHost

PATH = re.compile(r"/api/v1/sessions/([^/]+)/stream")


class SessionReader(SseConnection):
    """A `Reader` of its log."""

    __slots__ = ("_log",)

    def __init__(self, transport: asyncio.Transport, host: "SseHost") -> None:
        super().__init__(transport, host)
        self._log: SessionLog | None = None

    async def admit(self, who: Principal, head: Head) -> None:
        match = PATH.fullmatch(head.path)
        assert match is not None
        core = self.host.core
        try:
            log = await core.sessions.readable(who, match[1])
        except NotFound as error:
            core.refusals.note(who, "sse", error)
            raise
        if len(log.readers) >= limits.READERS_PER_SESSION_MAX:
            raise LimitReached("too many readers follow this session")
        self._log = log

    async def begin(self, head: Head) -> None:
        log = self._log
        if log is not None:
            await self.host.core.log.follow(log, self, _position(head))
            if self.transport.is_closing():
                log.detach(self)  # it left while its replay was read from disk

    def deliver(self, batch: Batch) -> None:
        self.write(batch.sse)

    def resync(self) -> None:
        self.write(sse.RESYNC)

    def ended(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.detach(self)

    def __str__(self) -> str:
        return f"reader of session {self._log and self._log.session_id}"


def _position(head: Head) -> int | None:
    """Where the reader wants to go on; the header, which browsers set, wins."""
    text = head.headers.get("Last-Event-ID")
    if text is None:
        text = head.query.get("last_event_id", "0")
    return sse.position(text.strip()) if text.strip() else 0
