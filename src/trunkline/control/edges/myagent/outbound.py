"""What goes out on one MyAgent connection: numbered, remembered, followed from any place.

Pieces of an answer are joined: one message for all that came in a short while, in its place before
whatever follows them. The connection itself is only written to.
"""

import asyncio

from trunkline.control.clock import Clock
from trunkline.control.edges.following import Following
from trunkline.control.edges.myagent.pages import Place, Track
from trunkline.control.edges.myagent.positions import Positions
from trunkline.control.edges.myagent.translation import PieceMessage, Translation
from trunkline.control.edges.socket import Socket
from trunkline.control.log.feeds import Feeds, Message, Translate
from trunkline.control.log.session_log import SessionLog
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.close_codes import CloseCode
from trunkline.wire.myagent.codec import encode, numbered, timestamp
from trunkline.wire.myagent.messages import Downlink, Json
from trunkline.wire.myagent.pieces import Block

_UNSAVED_PAGES_MAX = 200  # of a connection, until they are saved
_BLOCK_CHARS_MAX = 64 * 1024  # of pieces that wait; with more they wait no longer
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
        pieces_s: float,
    ) -> None:
        """`pieces_s`: between two messages with pieces of an answer."""
        super().__init__(socket, sessions_max)
        self.track = track
        self.seq = 0
        self._socket = socket
        self._positions = positions
        self._feeds = feeds
        self._clock = clock
        self._pieces_s = pieces_s
        self._connection_id = track.connection_id.encode()
        self._skips: dict[str, Place] = {}
        self._blocks: dict[str, Block] = {}
        """Pieces that wait, by their sessions."""
        self._pieces_due = 0.0
        """When the next pieces may go out, in the event loop's time."""
        self._timer: asyncio.TimerHandle | None = None

    def say(self, message: Downlink) -> None:
        """Of the connection's own; what waits goes before it."""
        self.flush()
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

    def notice(self, code: str, text: str, answers: str) -> None:
        """An answer that is no error: pages take every error for the end of the turn."""
        metadata: Json = {"error_code": code, "severity": "info", "answers": answers}
        self.say(Downlink(names.NOTICE, content=text, metadata=metadata))

    def _number(self, body: bytes) -> bytes:
        self.seq += 1
        return numbered(body, self._connection_id, self.seq)

    def is_busy(self, session_id: str) -> bool:
        """A turn runs in a session that is followed, as far as is known."""
        translation = self._feeds.translation(session_id)
        return not isinstance(translation, Translation) or translation.is_busy

    async def follow(self, log: SessionLog, place: Place, *, has_ended: bool = False) -> None:
        """Sends what came after that place, then goes on live; from anew if it did already."""
        session_id = log.session_id
        if not self.follows(session_id):
            self.check_room()
        self._check_saved()
        await self._positions.begin(self.track, session_id, self.seq + 1, place)
        self._blocks.pop(session_id, None)  # it comes again
        self.leave(session_id)
        if has_ended:
            self.finished(session_id)
        self._skips[session_id] = place
        partly = place.skipped > 0
        await self.begin(log, self._feeds, place.event_id, self._begins, partly=partly)

    def _begins(self, translate: Translate) -> None:
        """Who comes into a running turn is told so."""
        assert isinstance(translate, Translation)
        if (message := translate.under_way()) is not None:
            self.say(message)

    def leave(self, session_id: str) -> None:
        if session_id in self._blocks:
            self.flush()
        super().leave(session_id)
        self._skips.pop(session_id, None)

    def left(self) -> None:
        """The connection is gone; its sessions go on, and what waits is the next one's."""
        self._blocks.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
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
            if isinstance(message, PieceMessage):
                self._join(session_id, message, out)
                continue
            self._release(session_id, out)
            out.append(self._number(message.body))
            self._positions.sent(self.track, session_id, self.seq, event_id, nth)
        if self._blocks:
            self._release_in_time(out)
        if out:
            self._socket.send_all(out)
            if any(message.body.startswith(_SESSION_END) for message in messages):
                self.leave(session_id)
            self._check_saved()

    def _join(self, session_id: str, message: PieceMessage, out: list[bytes]) -> None:
        assert message.piece is not None
        block = self._blocks.get(session_id)
        if block is None:
            block = self._blocks[session_id] = Block(message.event_id)
        block.add(message.event_id, message.piece)
        if block.chars > _BLOCK_CHARS_MAX:
            self._release(session_id, out)

    def _release(self, session_id: str, out: list[bytes]) -> None:
        """The pieces of that session that wait become messages."""
        block = self._blocks.pop(session_id, None)
        if block is None:
            return
        out += [self._number(body) for body in block.encoded(session_id)]
        # With some of its messages a client has not all of the block: only the last one counts.
        self._positions.sent(
            self.track, session_id, self.seq, block.last_id, first_id=block.first_id
        )
        self._pieces_due = asyncio.get_running_loop().time() + self._pieces_s

    def _release_in_time(self, out: list[bytes]) -> None:
        """All pieces that wait, unless the last ones have just gone out."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._pieces_due:
            for session_id in list(self._blocks):
                self._release(session_id, out)
        elif self._timer is None:
            self._timer = loop.call_at(self._pieces_due, self._due)

    def _due(self) -> None:
        self._timer = None
        if self._blocks and self._socket.is_open:
            out: list[bytes] = []
            self._release_in_time(out)
            if out:
                self._socket.send_all(out)
                self._check_saved()

    def flush(self) -> None:
        """Sends what waits."""
        if self._blocks and self._socket.is_open:
            out: list[bytes] = []
            for session_id in list(self._blocks):
                self._release(session_id, out)
            self._socket.send_all(out)

    def _check_saved(self) -> None:
        if self.track.unsaved > _UNSAVED_PAGES_MAX:
            self._socket.close(CloseCode.TRY_AGAIN_LATER, "what was sent cannot be written down")
