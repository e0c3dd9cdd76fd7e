"""What a MyAgent client keeps of a session between two visits. Pure; signing is the wire's."""

import msgspec

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.sessions.records import Session
from trunkline.wire.myagent.messages import Json


def state_of(session: Session, who: Principal, messages: list[Json]) -> Json:
    """The newest messages that fit, and the place in the log; no configuration, no secrets."""
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
