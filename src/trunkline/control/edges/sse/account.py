"""The stream of an account: every session that a browser follows, and the news of its lists, on one
connection (docs/protocols/events.md#one-stream-for-all).
"""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from trunkline import limits, names
from trunkline.control.access.auth import Principal
from trunkline.control.door.head import Head
from trunkline.control.edges.sse.connection import SseConnection
from trunkline.control.errors import InvalidRequest, LimitReached, NotFound
from trunkline.control.ids import is_id, new_id
from trunkline.control.log.session_log import Batch, SessionLog
from trunkline.control.news import Gone
from trunkline.wire import sse

if TYPE_CHECKING:
    from trunkline.control.edges.sse.host import SseHost

PATH = "/api/v1/stream"


class Hello(msgspec.Struct, frozen=True):
    """The stream's name, and how often a heartbeat comes at least."""

    stream_id: str
    heartbeat_s: float


class Resync(msgspec.Struct, frozen=True):
    """The position in that session is no longer kept: read its events up to this one."""

    session_id: str
    last_event_id: int


class _Followed:
    """One session on the stream. A `Reader` of its log."""

    __slots__ = ("_stream", "log")

    def __init__(self, stream: "AccountStream", log: SessionLog) -> None:
        self._stream = stream
        self.log = log

    def deliver(self, batch: Batch) -> None:
        self._stream.write(batch.named(self.log.session_id))

    def resync(self) -> None:
        where = Resync(self.log.session_id, self.log.last_id)
        self._stream.write(sse.named("resync", msgspec.json.encode(where)))


class AccountStream(SseConnection):
    """Also a `Stream` for routes (`control/streams.py`) and a `Listener` of news."""

    __slots__ = ("_followed", "_found", "_wanted", "id", "who")

    def __init__(self, transport: asyncio.Transport, host: "SseHost") -> None:
        super().__init__(transport, host)
        self.id = new_id()
        self.who: Principal
        self._wanted: dict[str, int | None] = {}
        self._found: dict[str, SessionLog] = {}
        self._followed: dict[str, _Followed] = {}

    async def admit(self, who: Principal, head: Head) -> None:
        self.who = who
        self._wanted = _wanted(head)
        self.host.core.streams.add(self)
        self._found = await self.host.core.sessions.readable_of(who, self._wanted)

    async def begin(self, head: Head) -> None:
        core, found = self.host.core, self._found
        hello = Hello(self.id, core.tuning.reader_heartbeat_s)
        self.write(sse.named("hello", msgspec.json.encode(hello)))
        core.news.listen(self)
        for session_id in self._wanted.keys() - found.keys():
            if is_id(session_id):
                core.refusals.note(self.who, "sse", NotFound("session", session_id))
            self._refuse(session_id)
        for session_id, log in found.items():
            try:
                await self.follow(log, self._wanted[session_id])
            except LimitReached:  # the others are not to suffer from it
                self._refuse(session_id)
        self._wanted, self._found = {}, {}

    def _refuse(self, session_id: str) -> None:
        self.write(sse.named("gone", msgspec.json.encode(Gone("session", session_id))))

    async def follow(self, log: SessionLog, after: int | None) -> None:
        """From that position on, also if it did already. Waits until what was written before is
        read: replays of many sessions do not fit into what a reader may have unread."""
        session_id = log.session_id
        self.leave(session_id)
        if len(self._followed) >= limits.STREAM_SESSIONS_MAX:
            raise LimitReached(f"a stream follows {limits.STREAM_SESSIONS_MAX} sessions at most")
        if len(log.readers) >= limits.READERS_PER_SESSION_MAX:
            raise LimitReached("too many readers follow this session")
        reader = self._followed[session_id] = _Followed(self, log)
        try:
            await self.room()
            if self._is_current(reader):
                await self.host.core.log.follow(log, reader, after)
        except BaseException:
            self.leave(session_id)
            raise
        if not self._is_current(reader):
            log.detach(reader)  # it left while its replay was read from disk

    def _is_current(self, reader: _Followed) -> bool:
        return (
            not self.transport.is_closing() and self._followed.get(reader.log.session_id) is reader
        )

    def leave(self, session_id: str) -> None:
        reader = self._followed.pop(session_id, None)
        if reader is not None:
            reader.log.detach(reader)

    def tell(self, news: bytes) -> None:
        self.write(news)

    def ended(self) -> None:
        self.host.core.news.leave(self)
        self.host.core.streams.remove(self)
        for session_id in list(self._followed):
            self.leave(session_id)

    def __str__(self) -> str:
        return f"stream of user {self.who.user_id}"


def _wanted(head: Head) -> dict[str, int | None]:
    """The sessions that the query names, with their positions."""
    if problem := names.unknown_of("field", head.query, ("follow",)):
        raise InvalidRequest(f"query: {problem}", code="UNKNOWN_FIELD")
    given = [value for _, value in head.fields]
    if len(given) > limits.STREAM_SESSIONS_MAX:
        raise LimitReached(f"a stream follows {limits.STREAM_SESSIONS_MAX} sessions at most")
    wanted = dict(map(sse.followed, given))
    for session_id in wanted:
        if not session_id or len(session_id) > limits.ID_CHARS_MAX:
            raise InvalidRequest("query: follow is SESSION_ID:POSITION")
    return wanted
