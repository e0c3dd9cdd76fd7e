"""MyAgent clients that come back: to their place in a session, or with a state that they kept."""

from typing import TYPE_CHECKING

import msgspec
import structlog

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.edges.myagent.outbound import Outbound
from trunkline.control.edges.myagent.pages import Place
from trunkline.control.errors import InvalidRequest, NotFound, TrunklineError
from trunkline.control.log.session_log import SessionLog
from trunkline.control.sessions.records import Session
from trunkline.control.sessions.turns import messages_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.codec import timestamp
from trunkline.wire.myagent.identifiers import NOTHING_YET, UNSAID, Seen, seen_of
from trunkline.wire.myagent.messages import Downlink, Json, Uplink
from trunkline.wire.myagent.signed_state import open_state, sign

if TYPE_CHECKING:
    from trunkline.control.edges.myagent.host import MyAgentHost

_log = structlog.get_logger(__name__)

_NOT_KEPT = "Not everything since then is kept: these are the newest messages."


class Returns:
    """Of one connection."""

    def __init__(self, host: "MyAgentHost", who: Principal, out: Outbound) -> None:
        self._host = host
        self._core = host.core
        self._who = who
        self._out = out
        self._resumed: dict[str, Place] = {}
        """Where this connection went on by itself."""

    async def resume(self, sessions: dict[str, Seen]) -> None:
        """Goes on with each of these sessions where a connection broke off, unless another one
        follows it by now."""
        for session_id, seen in sessions.items():
            if self._is_followed(session_id):
                continue
            try:
                session = await self._core.sessions.get(self._who, session_id)
                log = await self._core.log.open(session_id)
                place = await self._known_place(session_id, seen)
                if place is not None:
                    place = self._resumed[session_id] = await self._held(log, place)
                    await self._follow(session, log, place)
            except TrunklineError as error:
                _log.info("a session was not gone on with", session=session_id, reason=str(error))

    def _is_followed(self, session_id: str) -> bool:
        return any(one.out.follows(session_id) for one in self._host.connections.values())

    async def reconnect(self, session: Session, message: Uplink) -> None:
        """Sends what the client missed of that session, then goes on live."""
        seen = seen_of(message, limits.JSON_INT_MAX)
        if seen == UNSAID and self._out.follows(session.id):
            return  # it has missed nothing
        self._out.flush()  # what waits has its place, too
        log = await self._core.log.open(session.id)
        place = await self._place(log, seen)
        if not self._has_come_by(session.id, seen, place):
            await self._follow(session, log, place)

    def _has_come_by(self, session_id: str, seen: Seen, place: Place) -> bool:
        """All after that place of an earlier connection was sent here before it was asked for."""
        resumed = self._resumed.get(session_id)
        is_earlier = seen.connection_id not in (None, self._out.track.connection_id)
        return (
            resumed is not None
            and is_earlier
            and resumed <= place
            and self._out.follows(session_id)
        )

    async def _follow(self, session: Session, log: SessionLog, place: Place) -> None:
        await self._out.follow(log, place, has_ended=session.status != "active")

    async def _place(self, log: SessionLog, seen: Seen) -> Place:
        """Where to go on. Unknown: the oldest event that readers can ask for."""
        known = None if seen == NOTHING_YET else await self._known_place(log.session_id, seen)
        if known is None and seen not in (UNSAID, NOTHING_YET):
            self._out.notice("RESYNC", _NOT_KEPT, names.RECONNECT)
        return await self._held(log, known)

    async def _held(self, log: SessionLog, place: Place | None) -> Place:
        """That place, if the log still has what came after it; else the client is told so."""
        if place is not None:
            event_id = place.event_id + 1 if place.skipped else place.event_id
            if await self._core.log.holds(log, event_id):
                return place
            self._out.notice("RESYNC", _NOT_KEPT, names.RECONNECT)
        return Place(await self._core.log.place_before(log, limits.RING_EVENTS))

    async def _known_place(self, session_id: str, seen: Seen) -> Place | None:
        """A position that does not count, or is somebody else's, is as good as none."""
        find = self._host.positions.find
        track, live = self._out.track, self._host.connections
        try:
            place = await find(track, session_id, *seen, live)
        except NotFound as error:
            self._core.refusals.note(self._who, "myagent", error)
            place = None
        return place or await find(track, session_id, *UNSAID, live)

    async def acknowledge(self, message: Uplink) -> None:
        """What the client has got, should it come back without saying so."""
        connection_id, seq = seen_of(message, limits.JSON_INT_MAX)
        if seq is None:
            return  # it says nothing
        named = message.session_id  # a position is the connection's, but clients name one
        if isinstance(named, str) and named and not self._out.follows(named):
            await self._core.sessions.get(self._who, named)
        own = self._out.track.connection_id
        if connection_id in (None, own):
            await self._host.positions.acknowledged(self._out.track, min(seq, self._out.seq))

    async def export(self, session: Session) -> None:
        """Gives the client the session's state to keep."""
        turns = await self._core.turns.recent(session.id, limits.MYAGENT_STATE_MESSAGES_MAX)
        now = self._core.clock()
        signed = sign(self._host.state_key, _state_of(session, self._who, messages_of(turns)), now)
        valid_until = timestamp(now + int(limits.MYAGENT_STATE_LIFE_S * 1000))
        self._out.say(
            Downlink(
                names.STATE_EXPORTED,
                session_id=session.id,
                content={"signed_state": signed},
                metadata={
                    "signed_state": signed,
                    "exported_at": timestamp(now),
                    "valid_until": valid_until,
                    "state_size_bytes": len(msgspec.json.encode(signed.state)),
                    "checksum": signed.checksum,
                },
            )
        )

    async def restore(self, message: Uplink) -> None:
        """Follows the session of a state that the client kept, from where it was exported."""
        seen = seen_of(message, limits.JSON_INT_MAX)
        given = message.signed_state
        if given is None and isinstance(message.content, dict):
            given = message.content.get("signed_state")
        if given is None:
            raise InvalidRequest("signed_state is missing", code="MISSING_FIELD")
        state = open_state(
            self._host.state_key,
            given,
            self._core.clock(),
            life_ms=int(limits.MYAGENT_STATE_LIFE_S * 1000),
            bytes_max=limits.MYAGENT_STATE_BYTES_MAX,
        )
        if state["user_id"] != self._who.user_id:
            raise NotFound("session", state["session_id"])
        session = await self._core.sessions.get(self._who, state["session_id"])
        log = await self._core.log.open(session.id)
        exported = await self._held(log, Place(min(state["last_event_id"], log.last_id)))
        is_new = seen in (UNSAID, NOTHING_YET)  # all that it has is the state
        place = exported if is_new else await self._place(log, seen)
        self._out.say(
            Downlink(
                names.STATE_RESTORED,
                session_id=session.id,
                content="The session goes on.",
                metadata={
                    "restored_at": timestamp(self._core.clock()),
                    "message_count": len(state["messages"]),
                    "restored_messages": len(state["messages"]),
                    "restored_step": state["last_event_id"],
                    "state_integrity": "verified",
                    "status": session.status,
                },
            )
        )
        await self._follow(session, log, place)


def _state_of(session: Session, who: Principal, messages: list[Json]) -> Json:
    """What a client keeps of a session between two visits: the newest messages that fit, and the
    place in the log; no configuration, no secrets."""
    state: Json = {
        "session_id": session.id,
        "user_id": who.user_id,
        "title": session.title or "",
        "runtime_type": session.runtime_type,
        "last_event_id": session.last_event_id,
        "messages": [],
    }
    room = limits.MYAGENT_STATE_BYTES_MAX - len(msgspec.json.encode(state))
    kept: list[Json] = []
    for message in reversed(messages[-limits.MYAGENT_STATE_MESSAGES_MAX :]):
        room -= len(msgspec.json.encode(message)) + 1
        if room < 0:
            break
        kept.append(message)
    return {**state, "messages": kept[::-1]}
