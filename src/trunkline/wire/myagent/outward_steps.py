"""The steps of a turn as MyAgent messages: tool calls, questions to a person, plans."""

from trunkline.wire.answers import kind_of
from trunkline.wire.events import SessionEvent, text_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.identifiers import call_step, confirm_step
from trunkline.wire.myagent.messages import Downlink, Json
from trunkline.wire.myagent.outward_state import Handler, Outward, llm_message, ms_between, number

_TOOLS = {"tool": "tool_name", "skill": "skill_name", "mcp": "tool_name"}
_SOLVER = {
    "plan_step_start": names.SOLVER_START,
    "plan_step_complete": names.SOLVER_COMPLETED,
    "plan_step_failed": names.SOLVER_STEP_FAILED,
}


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
            "execution_time_ms": ms_between(call.ts if call else None, event.ts),
            "tool": name,
            "tool_type": kind,
            "status": status,
            "error": text_of(result) if failed else None,
        },
    )
    return [told, *llm_message(state, "tool", text_of(result), step_id)]


def _question(state: Outward, event_id: int, event: SessionEvent) -> list[Downlink]:
    request_id = event.question_id
    if not request_id:
        return []
    kind = kind_of(event.kind, event.options)
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
    """The wire has no event for a question that has its answer: `agent.thinking` with its step says
    so. After the turn's end, which settles all of its questions, nothing more is said."""
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


STEP_HANDLERS: dict[str, Handler] = {
    "tool_call_start": _call_start,
    "tool_call_complete": _call_complete,
    "skill_call_start": _call_start,
    "skill_call_complete": _call_complete,
    "mcp_call_start": _call_start,
    "mcp_call_complete": _call_complete,
    "approval_request": _question,
    "approval_resolved": _settled,
    "plan": _plan,
    "plan_created": _plan,
    "plan_step_start": _plan_step,
    "plan_step_complete": _plan_step,
    "plan_step_failed": _plan_step,
}
