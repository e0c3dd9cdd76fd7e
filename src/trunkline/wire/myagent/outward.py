"""A session's events as MyAgent messages (docs/protocols/myagent.md has the table).

Pure: the number of an event and its line go in, encoded messages come out, each made once for all
connections that follow the session.
"""

from collections.abc import Callable, Mapping
from typing import Any

from trunkline.wire import events
from trunkline.wire.events import SessionEvent, text_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.codec import encode, timestamp
from trunkline.wire.myagent.messages import Downlink, Json
from trunkline.wire.myagent.steps import call_step, confirm_step
from trunkline.wire.myagent.turns import Turn, Underway, answer_type, number

_THINKING = {"reasoning": "reasoning", "replan": "planning"}
_STATUS = {
    "offline": "The machine of this session is offline.",
    "online": "The machine of this session is online.",
    "gone": "The machine of this session is gone.",
    "degraded": "The machine of this session has lost its line for a moment.",
}
_TOOLS = {"tool": "tool_name", "skill": "skill_name", "mcp": "tool_name"}
_SOLVER = {
    "plan_step_start": names.SOLVER_START,
    "plan_step_complete": names.SOLVER_COMPLETED,
    "plan_step_failed": names.SOLVER_STEP_FAILED,
}


class Outward:
    """What a translation remembers of one session."""

    def __init__(
        self,
        session_id: str,
        now: Callable[[], int],
        *,
        typed: bool = False,
        llm_messages: bool = False,
        confirm_timeout_s: float,
        text_chars_max: int,
    ) -> None:
        self.session_id = session_id
        self.now = now
        self.typed = typed
        self.llm_messages = llm_messages
        self.confirm_timeout_s = confirm_timeout_s
        self.underway = Underway(text_chars_max)


def from_events(state: Outward, event_id: int, line: str) -> list[bytes]:
    """The messages that one event becomes; none for what this wire cannot say."""
    event = events.read(line)
    if event is None:
        return []
    handler = _HANDLERS.get(event.type)
    made = handler(state, event_id, event) if handler else []
    sent_at = timestamp(number(event.ts) or state.now())
    for message in made:
        message.timestamp = sent_at
        message.session_id = state.session_id
        message.metadata = _metadata(message.metadata or {}, event)
    return [encode(message) for message in made]


def _metadata(own: Json, event: SessionEvent) -> Json:
    """What is said of it, and whose it is: the turn, a person of a group, a helper."""
    shown = {name: value for name, value in own.items() if value is not None}
    for name, value in (
        ("turn_id", text_of(event.turn_id)),
        ("person", event.person),
        ("agent", text_of(event.agent)),
    ):
        if value:
            shown.setdefault(name, value)
    return shown


def _user_message(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    state.underway.begin(text_of(event.turn_id), number(event.ts))
    return _llm(state, "user", text_of(event.content))


def _text(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    text = text_of(event.content)
    if not text:
        return []
    if event.agent:  # what a helper says is no part of the answer
        return [Downlink(names.THINKING, content=text, metadata={"thinking_type": "reasoning"})]
    turn = state.underway.turn(text_of(event.turn_id))
    index = state.underway.add_text(turn, text)
    return [Downlink(names.PARTIAL_ANSWER, content=text, metadata={"chunk_index": index})]


def _thinking(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    text, stage = text_of(event.content), text_of(event.stage)
    if not text:
        return []
    kind = _THINKING.get(stage, "analysis")
    metadata = {"thinking_type": kind, "stage": stage or None}
    return [Downlink(names.THINKING, content=text, metadata=metadata)]


def _call_start(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    kind = event.type.partition("_")[0]
    name = text_of(getattr(event, _TOOLS[kind])) or kind
    call_id = text_of(event.tool_call_id)
    step_id = call_step(event_id, name)
    state.underway.begin_call(kind, call_id, name, step_id, number(event.ts))
    given = event.given_input
    return [
        Downlink(
            names.TOOL_CALL,
            step_id=step_id,
            content={
                "tool_name": name,
                "tool_description": text_of(event.title),
                "arguments": {} if given is None else given,
            },
            metadata={
                "call_id": call_id or step_id,
                "tool_type": kind,
                "tool": name,
                "args": {} if given is None else given,
                "status": "running",
            },
        )
    ]


def _call_complete(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    kind = event.type.partition("_")[0]
    name = text_of(getattr(event, _TOOLS[kind])) or kind
    call_id = text_of(event.tool_call_id)
    call = state.underway.end_call(kind, call_id, name)
    step_id = call.step_id if call else call_step(event_id, name)
    failed = bool(event.is_error)
    status = "failed" if failed else "success"
    result = event.result if event.result is not None else event.content
    told = Downlink(
        names.TOOL_RESULT,
        step_id=step_id,
        content={"result": result, "status": status},
        metadata={
            "call_id": call_id or step_id,
            "execution_time_ms": _between(call.ts if call else None, event.ts),
            "tool": name,
            "tool_type": kind,
            "status": status,
            "error": text_of(result) if failed else None,
        },
    )
    return [told, *_llm(state, "tool", text_of(result), step_id)]


def _question(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    request_id = event.question_id
    if not request_id:
        return []
    kind = event.kind if event.kind in ("select", "input") else "approve"
    name = text_of(event.tool_name)
    step_id = confirm_step(state.session_id, request_id, name or kind)
    state.underway.ask(request_id, step_id)
    seconds = number(event.timeout_seconds)
    content: Json = {"message": text_of(event.message), "confirmation_type": kind}
    if event.options is not None:
        content["options"] = event.options
    return [
        Downlink(
            names.USER_CONFIRM,
            step_id=step_id,
            content=content,
            metadata={
                "tool_name": name,
                "tool_description": text_of(event.title) or text_of(event.message),
                "tool_args": {} if event.given_input is None else event.given_input,
                "requires_confirmation": True,
                "timeout_seconds": state.confirm_timeout_s if seconds is None else seconds,
                "critical": kind == "approve",
                "call_id": text_of(event.tool_call_id) or None,
                "multi_select": event.multi_select,
            },
        )
    ]


def _settled(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    """No event of the document says that a question has its answer: a thought with its step does.
    After the turn's end, which settles all of its questions, nothing more is said."""
    step_id = state.underway.settle(event.question_id)
    if step_id is None or not state.underway.is_busy:
        return []
    confirmed = bool(event.confirmed)
    why = {"timeout": "Nobody answered in time.", "cancelled": "The question was withdrawn."}
    text = why.get(text_of(event.reason), "Confirmed." if confirmed else "Declined.")
    metadata = {
        "thinking_type": "analysis",
        "confirmation": "confirmed" if confirmed else "denied",
        "answered_by": text_of(event.answered_by) or None,
        "reason": text_of(event.reason) or None,
    }
    return [Downlink(names.THINKING, step_id=step_id, content=text, metadata=metadata)]


def _usage(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    turn = state.underway.turn(text_of(event.turn_id))
    given = [number(event.tokens_in), number(event.tokens_out)]
    turn.tokens = sum(one or 0 for one in given) if given != [None, None] else None
    if isinstance(event.models, Mapping) and event.models:
        turn.model = ", ".join(map(text_of, event.models))
    return []


def _complete(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    turn = state.underway.end(text_of(event.turn_id))
    answer = event.answer_text or turn.text
    said = _llm(state, "assistant", answer)
    if event.cancelled:
        reason = {"reason": text_of(event.reason) or "cancelled"}
        return [*said, Downlink(names.INTERRUPTED, content="Cancelled.", metadata=reason)]
    kind = answer_type(event.final_response or event.content, answer)
    content = {"answer": answer, "answer_type": kind} if state.typed else answer
    metadata = {
        "answer_type": kind,
        "model": turn.model,
        "total_tokens_used": turn.tokens,
        "generation_time_ms": _between(turn.ts, event.ts),
    }
    return [*said, Downlink(names.FINAL_ANSWER, content=content, metadata=metadata)]


def _failed(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    turn: Turn = state.underway.end(text_of(event.turn_id))
    metadata = {
        "error_code": text_of(event.code) or "EXECUTION_ERROR",
        "severity": "error",
        "details": event.details if isinstance(event.details, dict) else {},
    }
    text = text_of(event.error) or text_of(event.message) or "The turn failed."
    return [
        *_llm(state, "assistant", turn.text),
        Downlink(names.ERROR, content=text, metadata=metadata),
    ]


def _plan(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    """The first plan of a turn is made; each later one says how far it is."""
    turn = state.underway.turn(text_of(event.turn_id))
    name = names.PLAN_STEP_COMPLETED if turn.plan_step else names.PLAN_COMPLETED
    turn.plan_step = turn.plan_step or f"plan_{event_id}"
    plan = event.plan if event.plan is not None else event.content
    content = plan if isinstance(plan, dict) else {"tasks": [] if plan is None else plan}
    return [Downlink(name, step_id=turn.plan_step, content=content)]


def _plan_step(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    text = text_of(event.content) or text_of(event.title) or text_of(event.message)
    metadata = {"error": text_of(event.error) or None, "result": event.result}
    step = state.underway.turn(text_of(event.turn_id)).plan_step or f"plan_{event_id}"
    return [Downlink(_SOLVER[event.type], step_id=step, content=text, metadata=metadata)]


def _status(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    """Only while somebody waits for an answer: to a page that is idle, a thought means work."""
    text = _STATUS.get(text_of(event.machine))
    if text is None or event.ready is not None or not state.underway.is_busy:
        return []
    if event.held:
        text = "The machine of this session is offline; the message waits for it."
    metadata = {
        "thinking_type": "analysis",
        "machine": event.machine,
        "held": True if event.held else None,
    }
    return [Downlink(names.THINKING, content=text_of(event.message) or text, metadata=metadata)]


def _closed(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    metadata = {
        "reason": text_of(event.reason) or "closed",
        "total_duration_ms": number(event.duration_ms),
    }
    return [Downlink(names.SESSION_END, content="The session has ended.", metadata=metadata)]


def _person(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    """A person of a group begins, or fails, which does not end the turn of the others."""
    person = event.person if isinstance(event.person, dict) else {}
    name = text_of(person.get("name")) or "Somebody"
    if event.type == "person_start":
        text, code = f"{name} is answering.", None
    else:
        text, code = f"{name}: {text_of(event.error)}", text_of(event.code) or "EXECUTION_ERROR"
    metadata: Json = {"thinking_type": "analysis", "error_code": code}
    return [Downlink(names.THINKING, content=text, metadata=metadata)]


def _llm(state: Outward, role: str, text: str, step_id: str | None = None) -> list[Downlink]:
    if not state.llm_messages or not text:
        return []
    return [Downlink(names.LLM_MESSAGE, step_id=step_id, content=text, metadata={"role": role})]


def _between(start: int | None, end: Any) -> int | None:
    stop = number(end)
    return None if start is None or stop is None else max(0, stop - start)


_HANDLERS: dict[str, Callable[[Outward, int, SessionEvent], list[Downlink]]] = {
    "user_message": _user_message,
    "text_chunk": _text,
    "thinking": _thinking,
    "tool_call_start": _call_start,
    "tool_call_complete": _call_complete,
    "skill_call_start": _call_start,
    "skill_call_complete": _call_complete,
    "mcp_call_start": _call_start,
    "mcp_call_complete": _call_complete,
    "approval_request": _question,
    "approval_resolved": _settled,
    "usage": _usage,
    "execution_complete": _complete,
    "execution_error": _failed,
    "plan": _plan,
    "plan_created": _plan,
    "plan_step_start": _plan_step,
    "plan_step_complete": _plan_step,
    "plan_step_failed": _plan_step,
    "session_status": _status,
    "session_closed": _closed,
    "person_start": _person,
    "person_error": _person,
}
