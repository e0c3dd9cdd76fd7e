"""What goes out on one MyAgent connection: numbered, remembered, followed from any place.

The connection itself is only written to.
"""

from trunkline.control.clock import Clock
from trunkline.control.edges.following import Following
from trunkline.control.edges.myagent.pages import Place, Track
from trunkline.control.edges.myagent.positions import Positions
from trunkline.control.edges.socket import Socket
from trunkline.control.log.feeds import Feeds, Message
from trunkline.control.log.log import SessionLog
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.close_codes import CloseCode
from trunkline.wire.myagent.codec import encode, numbered, timestamp
from trunkline.wire.myagent.messages import Downlink, Json

_UNSAVED_PAGES_MAX = 200  # of a connection, until they are saved
_SESSION_END = b'{"event":"%b"' % names.SESSION_END.encode()


class Outbound(Following):
    """The numbers of one connection, and the sessions that it follows."""

    def __init__(
        self,
        socket: Socket,
        track: Track,
        positions: Positions,
        feeds: Feeds,
        clock: Clock,
        sessions_max: int,
    ) -> None:
        super().__init__(socket, sessions_max)
        self.track = track
        self.seq = 0
        self._socket = socket
        self._positions = positions
        self._feeds = feeds
        self._clock = clock
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

    async def follow(self, log: SessionLog, place: Place, *, has_ended: bool = False) -> None:
        """Sends what came after that place, then goes on live; from anew if it did already."""
        session_id = log.session_id
        if not self.follows(session_id):
            self.check_room()
        self._check_saved()
        await self._positions.begin(self.track, session_id, self.seq + 1, place)
        self.leave(session_id)
        if has_ended:
            self.finished(session_id)
        self._skips[session_id] = place
        await self.begin(log, self._feeds, place.event_id)

    def leave(self, session_id: str) -> None:
        super().leave(session_id)
        self._skips.pop(session_id, None)

    def left(self) -> None:
        """The connection is gone; its sessions go on."""
        self.leave_all()
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
            self.leave(session_id)
        self._check_saved()

    def _check_saved(self) -> None:
        if self.track.unsaved > _UNSAVED_PAGES_MAX:
            self._socket.close(CloseCode.TRY_AGAIN_LATER, "what was sent cannot be written down")
