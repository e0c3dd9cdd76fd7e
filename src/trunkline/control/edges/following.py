"""The sessions that one client follows: bounded, and left with its connection. For every wire."""

from collections.abc import Callable, Iterable
from typing import Protocol

from trunkline.control.errors import LimitReached
from trunkline.control.log.feeds import Feeds, Message, Translate
from trunkline.control.log.session_log import SessionLog


class Connection(Protocol):
    """As much of a socket as a follower needs."""

    is_open: bool

    def send_all(self, messages: Iterable[bytes]) -> None: ...

    async def room(self) -> None: ...


class Following:
    """A `Follower` of feeds; what it does with their messages is its wire's business."""

    def __init__(self, connection: Connection, sessions_max: int) -> None:
        self._connection = connection
        self._sessions_max = sessions_max
        self._followed: dict[str, Feeds] = {}
        self._finished: set[str] = set()

    def take(self, session_id: str, messages: list[Message]) -> None:
        raise NotImplementedError

    async def room(self) -> None:
        await self._connection.room()

    @property
    def followed(self) -> list[str]:
        return list(self._followed)

    def follows(self, session_id: str) -> bool:
        return session_id in self._followed

    def check_room(self) -> None:
        """Raises unless one more session can be followed."""
        if len(self._followed) >= self._sessions_max:
            for session_id in list(self._finished):
                self.leave(session_id)
        if len(self._followed) >= self._sessions_max:
            raise LimitReached("this connection follows too many sessions: open another one")

    async def begin(
        self,
        log: SessionLog,
        feeds: Feeds,
        position: int | None,
        begins: Callable[[Translate], None] | None = None,
        *,
        partly: bool = False,
    ) -> None:
        """Takes what came after that position, then goes on live; None: from now on. `begins` and
        `partly`: see `Feeds.follow`."""
        session_id = log.session_id
        self._followed[session_id] = feeds
        try:
            await feeds.follow(log, self, position, begins, partly=partly)
        except BaseException:
            self.leave(session_id)
            raise
        if not self._connection.is_open or not self.follows(session_id):
            feeds.leave(session_id, self)  # it left while its replay was read from disk

    def finished(self, session_id: str) -> None:
        """Nothing more comes of it but its end: it makes room as soon as room is needed."""
        self._finished.add(session_id)

    def leave(self, session_id: str) -> None:
        self._finished.discard(session_id)
        if (feeds := self._followed.pop(session_id, None)) is not None:
            feeds.leave(session_id, self)

    def leave_all(self) -> None:
        for session_id in self.followed:
            self.leave(session_id)
