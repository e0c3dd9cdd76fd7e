"""What is remembered of each session's stream to the server. Bounded: idle ones are forgotten."""

from collections.abc import Callable, Container
from typing import Generic, TypeVar

from trunkline import limits

T = TypeVar("T")


class Streams(Generic[T]):
    """By session; made when it is first asked for."""

    def __init__(self, make: Callable[[str], T], busy: Container[str]) -> None:
        self._make = make
        self._busy = busy
        self._streams: dict[str, T] = {}

    def of(self, session_id: str) -> T:
        stream = self._streams.pop(session_id, None)
        if stream is None:
            self._make_room()
            stream = self._make(session_id)
        self._streams[session_id] = stream  # the newest last
        return stream

    def forget(self, session_id: str) -> None:
        self._streams.pop(session_id, None)

    def _make_room(self) -> None:
        if len(self._streams) < limits.WIRE_SESSIONS_KNOWN_MAX:
            return
        idle = next((one for one in self._streams if one not in self._busy), None)
        if idle is not None:
            del self._streams[idle]
