"""The conversations that one Yeaft web client follows, in its dialect.

What feeds bring is written in one piece, without what this client said itself. Knows no message of
the client's.
"""

from trunkline import limits
from trunkline.control.edges.following import Connection, Following
from trunkline.control.log.feeds import Feeds, Message
from trunkline.control.log.session_log import SessionLog
from trunkline.wire.yeaft.outward_frames import envelope


class WebReader(Following):
    """What one client follows, and how far it has come."""

    def __init__(self, connection: Connection, feeds: dict[bool, Feeds]) -> None:
        super().__init__(connection, limits.YEAFT_CONVERSATIONS_MAX)
        self._feeds = feeds
        self._positions: dict[str, tuple[SessionLog, int]] = {}
        self._said: dict[str, None] = {}
        self.deployed = False
        """Which of the two dialects it is told everything in."""
        self.wants_positions = False
        """Whether it is told the id of the last event that it was shown."""

    def take(self, session_id: str, messages: list[Message]) -> None:
        if not messages or session_id not in self._positions:
            return
        event_id = messages[-1].event_id
        self._positions[session_id] = self._positions[session_id][0], event_id
        bodies = [one.body for one in messages if one.said is None or one.said not in self._said]
        if self.wants_positions:
            told = envelope("event_position", conversationId=session_id, eventId=event_id)
            bodies.append(told)
        self._connection.send_all(bodies)

    def said(self, client_message_id: str) -> None:
        """It said this, and need not hear it again."""
        self._said[client_message_id] = None
        while len(self._said) > limits.YEAFT_SAID_MAX:
            del self._said[next(iter(self._said))]

    async def follow(self, log: SessionLog, position: int | None) -> None:
        """Goes on after that position; None: from now on. What it follows already it keeps."""
        if self.follows(log.session_id):
            return
        self.check_room()
        self._positions[log.session_id] = log, log.last_id if position is None else position
        await self.begin(log, self._feeds[self.deployed], position)

    def leave(self, session_id: str) -> None:
        super().leave(session_id)
        self._positions.pop(session_id, None)

    async def speak_deployed(self) -> None:
        """From here on in the other dialect, each conversation from where it has come to."""
        followed = list(self._positions.values())
        self.leave_all()
        self.deployed = True
        for log, position in followed:
            await self.follow(log, position)
