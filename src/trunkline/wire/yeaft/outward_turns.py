"""How turns begin and end for Yeaft web clients: what a person said, and one `result`.

Called by `outward`.
"""

from typing import Any

from trunkline.wire.events import SessionEvent, text_of
from trunkline.wire.yeaft import stream_json
from trunkline.wire.yeaft.outward_frames import Frame, envelope
from trunkline.wire.yeaft.outward_state import Out, Outward, Turn

CLOSINGS = ("turn_completed", "execution_cancelled")
"""How deployed agents end a turn, and deployed clients hear of it."""
_USAGE = (
    ("input_tokens", "tokens_in"),
    ("output_tokens", "tokens_out"),
    ("cache_read_input_tokens", "cache_read_tokens"),
)


def user_message(state: Outward, event: SessionEvent) -> list[Out]:
    if event.steers is None:
        state.turn(event).started_ms = event.ts if isinstance(event.ts, int) else None
    said = event.client_message_id if isinstance(event.client_message_id, str) else None
    data = stream_json.user_text(text_of(event.content), said, event.attachments)
    return [Out(state.own.data(data), said)]


def usage(state: Outward, event: SessionEvent, fields: dict[str, Any]) -> list[bytes]:
    """Told with the turn's end. Persons of a group have their own, which nobody asks for."""
    if event.person is not None:
        return []
    turn = state.turn(event)
    for name, field in _USAGE:
        value = fields.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            turn.usage[name] = value
    cost = fields.get("cost_usd")
    match fields.get("cost"):
        case {"amount": int() | float() as amount, "currency": "USD"}:
            cost = amount
    turn.cost_usd = cost if isinstance(cost, int | float) else None
    return []


def end(state: Outward, event: SessionEvent, verbatim: bytes | None, kind: str) -> list[bytes]:
    """A turn's end: one `result`, the agent's or ours. Deployed clients need their own message too.

    `verbatim`: the agent's own envelope of that kind; empty if it has passed before.
    """
    turn_id = state.turn_id(event)
    turn = state.end(event)
    own = [verbatim] if verbatim else []
    if turn is None:
        return own
    bodies = [] if verbatim is not None else _last_words(state, event, turn, turn_id)
    state.forget(turn_id)
    result: list[bytes] = []
    if not turn.has_result and kind != "result":
        result = [_result(state.own, state, event, turn)]
    if kind in CLOSINGS:
        return [*bodies, *result, *own]
    closing = [_closing(state, event)] if state.deployed else []
    return [*bodies, *own, *result, *closing]


def _last_words(state: Outward, event: SessionEvent, turn: Turn, turn_id: str) -> list[bytes]:
    """What was not said before: an answer that was never streamed, what went wrong."""
    if event.type == "execution_error":
        return [_problem(state.own, event)]
    if turn.is_heard or state.has_said(event, turn_id, event.answer_text):
        return []
    return [state.own.text(event.answer_text)]


def _problem(frame: Frame, event: SessionEvent) -> bytes:
    return frame.data(stream_json.system("error", message=_why(event), **_code(event)))


def _why(event: SessionEvent) -> str:
    return text_of(event.error) or text_of(event.message) or "the turn failed"


def _code(event: SessionEvent) -> dict[str, str]:
    return {"code": event.code} if isinstance(event.code, str) else {}


def _result(frame: Frame, state: Outward, event: SessionEvent, turn: Turn) -> bytes:
    is_error = event.type.endswith("_error")
    subtype, more = stream_json.SUCCESS, dict[str, Any](result=event.answer_text)
    if is_error:
        is_limit = event.code == "TURN_LIMIT"
        subtype = stream_json.TOO_MANY_TURNS if is_limit else stream_json.FAILED
        more = {"result": _why(event), **_code(event)}
    elif event.cancelled is True:
        subtype, more["cancelled"] = stream_json.FAILED, True
    began, ended = turn.started_ms, event.ts
    took = ended - began if began is not None and isinstance(ended, int) else 0
    told = stream_json.result(
        subtype,
        session_id=state.session_id,
        is_error=is_error,
        duration_ms=max(0, took),
        cost_usd=turn.cost_usd,
        usage=turn.usage,
        **more,
    )
    return frame.data(told)


def _closing(state: Outward, event: SessionEvent) -> bytes:
    kind = "execution_cancelled" if event.cancelled is True else "turn_completed"
    return envelope(kind, conversationId=state.conversation_id)


def closed(state: Outward, event: SessionEvent) -> list[bytes]:
    """Nothing more comes; what was said stays readable."""
    fields = {"conversationId": state.conversation_id, "agentId": state.agent_id}
    told = [envelope("conversation_closed", **fields, reason=event.reason)]
    if state.deployed:
        told.append(envelope("conversation_deleted", **fields))
    return told


def person_start(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    return [state.frame(event).data(stream_json.system("person_start"))]


def person_end(state: Outward, event_id: int, event: SessionEvent) -> list[bytes]:
    """Each person's thread ends with a `result` of its own."""
    frame, turn_id = state.frame(event), state.turn_id(event)
    bodies: list[bytes] = []
    if event.type == "person_error":
        bodies = [_problem(frame, event)]
    elif not state.has_said(event, turn_id, event.answer_text):
        bodies = [frame.text(event.answer_text)]
    state.paused(event)
    alone = Turn(state.turn(event).started_ms)
    return [*bodies, _result(frame, state, event, alone)]
