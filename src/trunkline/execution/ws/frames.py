"""Frames as they go up: the document's fields, and our additions only where they were agreed on.

A control plane that knows nothing of `seq` or `turns` never sees the words (document 000 §4, §9).
"""

from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.ws.outbox import Outgoing

Json = dict[str, Any]

_encode = msgspec.json.Encoder().encode


def auth(token: str, capabilities: tuple[str, ...]) -> bytes:
    return _encode({"type": "auth", "token": token, "capabilities": capabilities})


def heartbeat(active_sessions: list[str], health: Json) -> bytes:
    frame: Json = {"type": "heartbeat", "active_sessions": active_sessions}
    if health and len(_encode(health)) <= limits.HEALTH_BYTES_MAX:
        frame["health"] = health
    return _encode(frame)


def resume(pending_ids: list[str], turns: list[str] | None) -> bytes:
    """`turns`: those that have come to this machine; only with `seq`."""
    frame: Json = {"type": "resume", "pending_ids": pending_ids}
    if turns is not None:
        frame["turns"] = turns
    return _encode(frame)


def events(events: list[Outgoing], *, numbered: bool) -> bytes:
    """One as an `sse_event`, several as a `batch`."""
    if len(events) == 1:
        return _encode({"type": "sse_event", **_event(events[0], numbered)})
    return _encode({"type": "batch", "events": [_event(one, numbered) for one in events]})


def _event(event: Outgoing, numbered: bool) -> Json:
    fields: Json = {"session_id": event.session_id, "data": event.data}
    if numbered:
        fields["seq"] = event.seq
    return fields


def request(session_id: str, request_id: str, method: str, params: Json) -> bytes:
    return _encode(
        {
            "type": "request",
            "session_id": session_id,
            "id": request_id,
            "method": method,
            "params": params,
        }
    )


def fire_and_forget(session_id: str, method: str, params: Json) -> bytes:
    return _encode(
        {"type": "fire_and_forget", "session_id": session_id, "method": method, "params": params}
    )
