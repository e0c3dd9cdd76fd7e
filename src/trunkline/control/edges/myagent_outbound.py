"""What goes out on one MyAgent connection: numbered, remembered, followed from any place.

A `Follower` of feeds; the connection itself is only written to.
"""

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.edges.myagent_positions import Place, Positions, Track
from trunkline.control.edges.socket import Socket
from trunkline.control.errors import LimitReached
from trunkline.control.feeds import Feeds, Message
from trunkline.control.log import SessionLog
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.codec import encode, numbered, timestamp
from trunkline.wire.myagent.messages import Downlink, Json

_TRY_AGAIN = 1013
_SESSION_END = b'{"event":"%b"' % names.SESSION_END.encode()


class Outbound:
    """The numbers of one connection, and the sessions that it follows."""

    def __init__(
        self, socket: Socket, track: Track, positions: Positions, feeds: Feeds, clock: Clock
    ) -> None:
        self.track = track
        self.seq = 0
        self._socket = socket
        self._positions = positions
        self._feeds = feeds
        self._clock = clock
        self._followed: set[str] = set()
        self._skips: dict[str, Place] = {}

    # --- The connection's own messages --------------------------------------------------------

    def say(self, message: Downlink) -> None:
        message.timestamp = timestamp(self._clock())
        self._socket.send(self._number(encode(message)))

    def fault(self, session_id: str | None, code: str, problem: str) -> None:
        """`agent.error` for a session's fault, `system.error` for everybody else's."""
        metadata: Json = {"error_code": code, "severity": "error", "details": {}}
        event = names.SYSTEM_ERROR if session_id is None else names.ERROR
        self.say(Downlink(event, session_id=session_id, content=problem, metadata=metadata))

    def _number(self, body: bytes) -> bytes:
        self.seq += 1
        return numbered(body, self.track.connection_id, self.seq)

    # --- Sessions -----------------------------------------------------------------------------

    def follows(self, session_id: str) -> bool:
        return session_id in self._followed

    def check_room(self) -> None:
        """Raises unless one more session can be followed."""
        if len(self._followed) >= limits.MYAGENT_SESSIONS_MAX:
            raise LimitReached("this connection follows too many sessions: open another one")

    async def follow(self, log: SessionLog, place: Place) -> None:
        """Sends what came after that place, then goes on live; from anew if it did already."""
        session_id = log.session_id
        if not self.follows(session_id):
            self.check_room()
        self._feeds.leave(session_id, self)
        self._followed.add(session_id)
        self._skips[session_id] = place
        await self._positions.begin(self.track, session_id, place.event_id)
        await self._feeds.follow(log, self, place.event_id)
        if not self._socket.is_open or not self.follows(session_id):
            self._feeds.leave(session_id, self)  # one of the two ended meanwhile

    def leave(self) -> None:
        """The connection is gone; its sessions go on."""
        for session_id in self._followed:
            self._feeds.leave(session_id, self)
        self._followed.clear()
        self._positions.save_soon()

    def take(self, session_id: str, messages: list[Message]) -> None:
        if not self._socket.is_open:
            return
        if session_id in self._skips:
            messages = self._unseen(session_id, messages)
        out: list[bytes] = []
        for message in messages:
            out.append(self._number(message.body))
            self._positions.sent(self.track, session_id, self.seq, message.event_id)
        self._socket.send_all(out)
        if any(message.body.startswith(_SESSION_END) for message in messages):
            self._followed.discard(session_id)
            self._feeds.leave(session_id, self)
        if self.track.unsaved > limits.MYAGENT_RUNS_IN_MEMORY:
            self._socket.close(_TRY_AGAIN, "what was sent cannot be written down")

    def _unseen(self, session_id: str, messages: list[Message]) -> list[Message]:
        """Without the messages of the first event that the client has got already."""
        place = self._skips.pop(session_id)
        first = place.event_id + 1
        known = sum(message.event_id == first for message in messages[: place.skipped])
        return messages[known:]

    async def room(self) -> None:
        await self._socket.room()
