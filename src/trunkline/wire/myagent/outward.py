"""A session's events as MyAgent messages
(docs/protocols/myagent.md#translation-of-session-events has the table).

Pure: the number of an event and its line go in, encoded messages come out, each made once for all
connections that follow the session; pieces of an answer and of thoughts come out as they are,
because each connection joins them in its own time.
"""

from trunkline.wire import events
from trunkline.wire.events import text_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.codec import encode, timestamp
from trunkline.wire.myagent.messages import Downlink, Json
from trunkline.wire.myagent.outward_state import Outward, busy, number, whose
from trunkline.wire.myagent.outward_steps import STEP_HANDLERS
from trunkline.wire.myagent.outward_turns import TURN_HANDLERS
from trunkline.wire.myagent.pieces import Piece

_HANDLERS = {**TURN_HANDLERS, **STEP_HANDLERS}


def from_events(state: Outward, event_id: int, line: str) -> list[bytes | Piece]:
    """The messages that one event becomes; none for what this wire cannot say."""
    event = events.read(line)
    if event is None:
        return []
    handler = _HANDLERS.get(event.type)
    if handler is None:
        return []
    sent_at = ""
    out: list[bytes | Piece] = []
    for message in handler(state, event_id, event):
        if isinstance(message, Piece):
            out.append(message)
            continue
        message.timestamp = sent_at = sent_at or timestamp(number(event.ts) or state.now())
        message.session_id = state.session_id
        message.metadata = whose(message.metadata or {}, event)
        out.append(encode(message))
    return out


def under_way(state: Outward) -> Downlink | None:
    """What is told first to who begins to follow: that a turn runs, if one does."""
    turn = state.underway.active
    if turn is None or not state.underway.is_busy:
        return None
    message = busy(turn)
    message.session_id = state.session_id
    message.metadata = {name: one for name, one in (message.metadata or {}).items() if one}
    return message


def unshown(state: Outward, line: str) -> list[bytes]:
    """What is said of an event that `from_events` cannot say: of a turn's end, that it has ended,
    because somebody waits for that; of others nothing."""
    event = events.read(line)
    if event is None or event.type not in events.TERMINAL:
        return []
    turn = state.underway.end(text_of(event.turn_id), 0)
    metadata: Json = {"error_code": "UNSHOWABLE", "severity": "error", "details": {}}
    message = Downlink(
        names.ERROR,
        timestamp=timestamp(number(event.ts) or state.now()),
        session_id=state.session_id,
        content="The turn has ended; its answer cannot be shown here.",
        metadata={**metadata, "turn_id": turn.id} if turn.id else metadata,
    )
    return [encode(message)]
