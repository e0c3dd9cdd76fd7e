"""The streams of accounts that are open: found by whoever changes what one follows."""

from typing import Protocol

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import LimitReached, NotFound
from trunkline.control.log.session_log import SessionLog


class Stream(Protocol):
    """One browser's, as its edge offers it (`edges/sse/account.py`)."""

    id: str
    who: Principal

    async def follow(self, log: SessionLog, after: int | None) -> None: ...

    def leave(self, session_id: str) -> None: ...


class Streams:
    """By their ids."""

    def __init__(self, per_user_max: int = limits.STREAMS_PER_USER_MAX) -> None:
        self._per_user_max = per_user_max
        self._streams: dict[str, Stream] = {}

    def __len__(self) -> int:
        return len(self._streams)

    def add(self, stream: Stream) -> None:
        user_id = stream.who.user_id
        own = sum(one.who.user_id == user_id for one in self._streams.values())
        if own >= self._per_user_max:
            raise LimitReached("this user has too many streams open: close some pages")
        self._streams[stream.id] = stream

    def remove(self, stream: Stream) -> None:
        self._streams.pop(stream.id, None)

    def get(self, who: Principal, stream_id: str) -> Stream:
        """One of that person's own."""
        stream = self._streams.get(stream_id)
        if stream is None or stream.who.user_id != who.user_id:
            raise NotFound("stream", stream_id)
        return stream
