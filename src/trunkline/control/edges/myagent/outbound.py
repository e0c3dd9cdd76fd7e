"""What goes out on one MyAgent connection: numbered, remembered, followed from any place.

A `Follower` of feeds; the connection itself is only written to.
"""

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.edges.myagent.pages import Place, Track
from trunkline.control.edges.myagent.positions import Positions
from trunkline.control.edges.socket import Socket
from trunkline.control.errors import LimitReached
from trunkline.control.log.feeds import Feeds, Message
from trunkline.control.log.log import SessionLog
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.close_codes import CloseCode
from trunkline.wire.myagent.codec import encode, numbered, timestamp
from trunkline.wire.myagent.messages import Downlink, Json

_UNSAVED_PAGES_MAX = 200  # of a connection, until they are saved
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
        self._ended: set[str] = set()
        """Of those, the ones that make room as soon as it is needed."""
        self._skips: dict[str, Place] = {}

    def say(self, message: Downlink) -> None:
        message.timestamp = timestamp(self._clock())
        self._socket.send(self._number(encode(message)))

    def fault(
        self, session_id: str | None, code: str, problem: str, *, answers: str | None = None
    ) -> None:
        """`agent.error` for a session's fault, `system.error` for everybody else's. `answers`: the
        client's event that could not be done."""
        metadata: Json = {"error_code": code, "severity": "error", "details": {}}
        if answers is not None:
            metadata["answers"] = answers
        event = names.SYSTEM_ERROR if session_id is None else names.ERROR
        self.say(Downlink(event, session_id=session_id, content=problem, metadata=metadata))

    def _number(self, body: bytes) -> bytes:
        self.seq += 1
        return numbered(body, self.track.connection_id, self.seq)

    def follows(self, session_id: str) -> bool:
        return session_id in self._followed

    def check_room(self) -> None:
        """Raises unless one more session can be followed."""
        if len(self._followed) >= limits.MYAGENT_SESSIONS_MAX:
            for session_id in list(self._ended):
                self._stop(session_id)
        if len(self._followed) >= limits.MYAGENT_SESSIONS_MAX:
            raise LimitReached("this connection follows too many sessions: open another one")

    async def follow(self, log: SessionLog, place: Place, *, has_ended: bool = False) -> None:
        """Sends what came after that place, then goes on live; from anew if it did already."""
        session_id = log.session_id
        if not self.follows(session_id):
            self.check_room()
        self._check_saved()
        await self._positions.begin(self.track, session_id, self.seq + 1, place)
        self._feeds.leave(session_id, self)
        self._followed.add(session_id)
        if has_ended:
            self._ended.add(session_id)
        self._skips[session_id] = place
        try:
            await self._feeds.follow(log, self, place.event_id)
        except BaseException:
            self._stop(session_id)
            raise
        if not self._socket.is_open or not self.follows(session_id):
            self._feeds.leave(session_id, self)  # one of the two ended meanwhile

    def _stop(self, session_id: str) -> None:
        self._followed.discard(session_id)
        self._ended.discard(session_id)
        self._skips.pop(session_id, None)
        self._feeds.leave(session_id, self)

    def leave(self) -> None:
        """The connection is gone; its sessions go on."""
        for session_id in list(self._followed):
            self._stop(session_id)
        self._positions.save_soon()

    def take(self, session_id: str, messages: list[Message]) -> None:
        if not self._socket.is_open:
            return
        skip = self._skips.pop(session_id, None) if messages else None
        out: list[bytes] = []
        event_id = nth = 0
        for message in messages:
            nth = nth + 1 if message.event_id == event_id else 0
            event_id = message.event_id
            if skip is not None and event_id == skip.event_id + 1 and nth < skip.skipped:
                continue  # the client has got this one of the event already
            out.append(self._number(message.body))
            self._positions.sent(self.track, session_id, self.seq, event_id, nth)
        self._socket.send_all(out)
        if any(message.body.startswith(_SESSION_END) for message in messages):
            self._stop(session_id)
        self._check_saved()

    def _check_saved(self) -> None:
        if self.track.unsaved > _UNSAVED_PAGES_MAX:
            self._socket.close(CloseCode.TRY_AGAIN_LATER, "what was sent cannot be written down")

    async def room(self) -> None:
        await self._socket.room()
