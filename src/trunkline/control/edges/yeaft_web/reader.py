"""The conversations that one Yeaft web client follows, in its dialect.

A `Follower` of feeds: what they bring is written in one piece, without what this client said
itself. Knows no message of the client's.
"""

from collections.abc import Iterable
from typing import Protocol

from trunkline import limits
from trunkline.control.errors import LimitReached
from trunkline.control.log.feeds import Feeds, Message
from trunkline.control.log.log import SessionLog
from trunkline.wire.yeaft.outward_frames import envelope


class Connection(Protocol):
    """As much of a socket as a reader needs."""

    is_open: bool

    def send_all(self, messages: Iterable[bytes]) -> None: ...

    async def room(self) -> None: ...


class WebReader:
    """What one client follows, and how far it has come."""

    def __init__(self, connection: Connection, feeds: dict[bool, Feeds]) -> None:
        self._connection = connection
        self._feeds = feeds
        self._logs: dict[str, SessionLog] = {}
        self._positions: dict[str, int] = {}
        self._said: dict[str, None] = {}
        self._finished: set[str] = set()
        self.deployed = False
        """Which of the two dialects it is told everything in."""
        self.wants_positions = False
        """Whether it is told the id of the last event that it was shown."""

    def take(self, session_id: str, messages: list[Message]) -> None:
        if not messages or session_id not in self._positions:
            return
        event_id = self._positions[session_id] = messages[-1].event_id
        bodies = [one.body for one in messages if one.said is None or one.said not in self._said]
        if self.wants_positions:
            told = envelope("event_position", conversationId=session_id, eventId=event_id)
            bodies.append(told)
        self._connection.send_all(bodies)

    async def room(self) -> None:
        await self._connection.room()

    def said(self, client_message_id: str) -> None:
        """It said this, and need not hear it again."""
        self._said[client_message_id] = None
        while len(self._said) > limits.YEAFT_SAID_MAX:
            del self._said[next(iter(self._said))]

    @property
    def followed(self) -> list[str]:
        return list(self._positions)

    def follows(self, session_id: str) -> bool:
        return session_id in self._positions

    async def follow(self, log: SessionLog, position: int | None) -> None:
        """Goes on after that position; None: from now on. What it follows already it keeps."""
        session_id = log.session_id
        if session_id in self._positions:
            return
        if len(self._positions) >= limits.YEAFT_CONVERSATIONS_MAX:
            for one in list(self._finished):
                self.leave(one)
        if len(self._positions) >= limits.YEAFT_CONVERSATIONS_MAX:
            raise LimitReached(
                f"this connection follows {limits.YEAFT_CONVERSATIONS_MAX} conversations already"
            )
        self._logs[session_id] = log
        self._positions[session_id] = log.last_id if position is None else position
        feeds = self._feeds[self.deployed]
        try:
            await feeds.follow(log, self, position)
        except BaseException:
            self.leave(session_id)
            raise
        if not self._connection.is_open or session_id not in self._positions:
            feeds.leave(session_id, self)  # it left while its replay was read from disk

    def finished(self, session_id: str) -> None:
        """Nothing more comes of it but its end: it makes room as soon as room is needed."""
        self._finished.add(session_id)

    def leave(self, session_id: str) -> None:
        self._finished.discard(session_id)
        self._logs.pop(session_id, None)
        if self._positions.pop(session_id, None) is not None:
            self._feeds[self.deployed].leave(session_id, self)

    def leave_all(self) -> None:
        for session_id in self.followed:
            self.leave(session_id)

    async def speak_deployed(self) -> None:
        """From here on in the other dialect, each conversation from where it has come to."""
        followed = [(log, self._positions[one]) for one, log in self._logs.items()]
        self.leave_all()
        self.deployed = True
        for log, position in followed:
            await self.follow(log, position)
