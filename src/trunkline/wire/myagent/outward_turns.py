"""A turn from its message to its end, and what happens to its session, as MyAgent messages."""

from collections.abc import Mapping

from trunkline.wire.events import SessionEvent, text_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.identifiers import turn_step
from trunkline.wire.myagent.messages import Downlink, Json
from trunkline.wire.myagent.outward_state import (
    Handler,
    Made,
    Outward,
    Turn,
    answer_type,
    busy,
    llm_message,
    ms_between,
    number,
)
from trunkline.wire.myagent.pieces import Piece

_THINKING = {"reasoning": "reasoning", "replan": "planning"}
_WHOLE = ("model", "replan", "memory")
"""Stages whose thoughts are sentences of their own: joined, they would run into each other."""
_MODEL_CHARS_MAX = 500
_STATUS = {
    "offline": "The machine of this session is offline.",
    "online": "The machine of this session is online.",
    "gone": "The machine of this session is gone.",
    "degraded": "The machine of this session has lost its line for a moment.",
}


def _user_message(state: Outward, event_id: int, event: SessionEvent) -> Made:
    text = text_of(event.content)
    if event.steers is not None:  # said to a turn that runs
        return llm_message(state, "user", text)
    turn = state.underway.begin(text_of(event.turn_id), event_id, number(event.ts), text)
    return [busy(turn), *llm_message(state, "user", text)]


def _steer_missed(state: Outward, event_id: int, event: SessionEvent) -> Made:
    """What was said to a turn before is one of its own now."""
    return [busy(state.underway.begin(text_of(event.turn_id), event_id, number(event.ts), ""))]


def _text(state: Outward, event_id: int, event: SessionEvent) -> Made:
    text = text_of(event.content)
    if not text:
        return []
    if event.agent:  # what a helper says is no part of the answer
        return [_piece_of_thought(state, event_id, event, text, {"thinking_type": "reasoning"})]
    turn_id = text_of(event.turn_id)
    turn = state.underway.turn(turn_id, event_id)
    index = turn.add(text)
    return [Piece(turn.stream(turn_id, event.person), text, index, number(event.ts) or state.now())]


def _thinking(state: Outward, event_id: int, event: SessionEvent) -> Made:
    text, stage = text_of(event.content), text_of(event.stage)
    if not text:
        return []
    kind = _THINKING.get(stage, "analysis")
    metadata = {"thinking_type": kind, "stage": stage or None}
    make = _thought if stage in _WHOLE else _piece_of_thought
    return [make(state, event_id, event, text, metadata)]


def _piece_of_thought(
    state: Outward, event_id: int, event: SessionEvent, text: str, metadata: Json
) -> Downlink | Piece:
    """It may be no more than a word."""
    stream = state.underway.thoughts(event_id, event, metadata)
    if stream is None:
        return _thought(state, event_id, event, text, metadata)
    return Piece(stream, text, None, number(event.ts) or state.now())


def _thought(
    state: Outward, event_id: int, event: SessionEvent, text: str, metadata: Json
) -> Downlink:
    turn = state.underway.find(text_of(event.turn_id))
    step_id = turn_step(turn.event_id if turn else event_id, "thinking")
    return Downlink(names.THINKING, step_id=step_id, content=text, metadata=metadata)


def _usage(state: Outward, event_id: int, event: SessionEvent) -> Made:
    turn = state.underway.turn(text_of(event.turn_id), event_id)
    given = [number(event.tokens_in), number(event.tokens_out)]
    turn.tokens = sum(one or 0 for one in given) if given != [None, None] else None
    if isinstance(event.models, Mapping) and event.models:
        turn.model = ", ".join(map(text_of, event.models))[:_MODEL_CHARS_MAX]
    return []


def _complete(state: Outward, event_id: int, event: SessionEvent) -> Made:
    turn = state.underway.end(text_of(event.turn_id), event_id)
    answer = event.answer_text or turn.streamed.text
    said = llm_message(state, "assistant", answer)
    if event.cancelled:
        reason = {"reason": text_of(event.reason) or "cancelled"}
        told = Downlink(names.INTERRUPTED, content="Cancelled.", metadata=reason)
        return [*_cancelled_plan(turn, reason), *said, told]
    kind = answer_type(event.final_response or event.content, answer)
    content = {"answer": answer, "answer_type": kind} if state.typed else answer
    metadata = {
        "answer_type": kind,
        "truncated": True if turn.streamed.is_cut and not event.answer_text else None,
        "model": turn.model,
        "total_tokens_used": turn.tokens,
        "generation_time_ms": ms_between(turn.ts, event.ts),
    }
    final = Downlink(
        names.FINAL_ANSWER,
        step_id=turn_step(turn.event_id, "answer"),
        content=content,
        metadata=metadata,
    )
    return [*_completed_plan(turn, event), *said, final]


def _completed_plan(turn: Turn, event: SessionEvent) -> Made:
    """The end of a turn that had a plan."""
    if not turn.plan_step:
        return []
    metadata = {
        "task_count": turn.task_count,
        "total_duration_ms": ms_between(turn.ts, event.ts),
    }
    done = "The plan is done."
    return [
        Downlink(names.PIPELINE_COMPLETED, step_id=turn.plan_step, content=done, metadata=metadata)
    ]


def _cancelled_plan(turn: Turn, reason: Json) -> Made:
    """Of a turn that had one: its tasks that were begun, and the plan."""
    if not turn.plan_step and not turn.steps:
        return []
    step_id = turn.plan_step or turn_step(turn.event_id, "plan")
    tasks = [
        Downlink(
            names.SOLVER_CANCELLED, step_id=step_id, content={"task": task}, metadata=dict(reason)
        )
        for task in turn.steps.values()
    ]
    plan = Downlink(
        names.PLAN_CANCELLED, step_id=step_id, content="Cancelled.", metadata=dict(reason)
    )
    return [*tasks, plan]


def _failed(state: Outward, event_id: int, event: SessionEvent) -> Made:
    turn = state.underway.end(text_of(event.turn_id), event_id)
    metadata = {
        "error_code": text_of(event.code) or "EXECUTION_ERROR",
        "severity": "error",
        "details": event.details if isinstance(event.details, dict) else {},
    }
    text = text_of(event.error) or text_of(event.message) or "The turn failed."
    return [
        *llm_message(state, "assistant", turn.streamed.text),
        Downlink(names.ERROR, content=text, metadata=metadata),
    ]


def _status(state: Outward, event_id: int, event: SessionEvent) -> Made:
    """Only while somebody waits for an answer: to a page that is idle, a thought means work."""
    text = _status_text(event)
    if text is None or not state.underway.is_busy:
        return []
    metadata = {
        "thinking_type": "analysis",
        "machine": event.machine,
        "held": True if event.held else None,
    }
    return [_thought(state, event_id, event, text, metadata)]


def _status_text(event: SessionEvent) -> str | None:
    """What a person should read about it. What does not work stands before the mere state of the
    machine: a session may have a problem while its machine is online."""
    if event.message:
        return text_of(event.message)
    if event.held:
        return "The machine of this session is offline; the message waits for it."
    if event.lost_events:
        return f"The machine of this session lost {text_of(event.lost_events)} events here."
    if isinstance(event.problems, list) and event.problems:
        return "; ".join(map(text_of, event.problems))
    if (event.ready, event.commands, event.resume) != (None, None, None):
        return None  # told for programs
    text = _STATUS.get(text_of(event.machine))
    if isinstance(event.degraded, list) and event.degraded:
        missing = ", ".join(map(text_of, event.degraded))
        return f"{text or ''} It works without: {missing}.".lstrip()
    return text


def _closed(state: Outward, event_id: int, event: SessionEvent) -> Made:
    metadata = {
        "reason": text_of(event.reason) or "closed",
        "total_duration_ms": number(event.duration_ms),
    }
    return [Downlink(names.SESSION_END, content="The session has ended.", metadata=metadata)]


def _person(state: Outward, event_id: int, event: SessionEvent) -> Made:
    """A person of a group begins, or fails, which does not end the turn of the others."""
    person = event.person if isinstance(event.person, dict) else {}
    name = text_of(person.get("name")) or "Somebody"
    if event.type == "person_start":
        text, code = f"{name} is answering.", None
    else:
        text, code = f"{name}: {text_of(event.error)}", text_of(event.code) or "EXECUTION_ERROR"
    metadata: Json = {"thinking_type": "analysis", "error_code": code}
    return [_thought(state, event_id, event, text, metadata)]


TURN_HANDLERS: dict[str, Handler] = {
    "user_message": _user_message,
    "steer_missed": _steer_missed,
    "text_chunk": _text,
    "thinking": _thinking,
    "usage": _usage,
    "execution_complete": _complete,
    "execution_error": _failed,
    "session_status": _status,
    "session_closed": _closed,
    "person_start": _person,
    "person_error": _person,
}
