"""The steps of a turn as MyAgent messages: tool calls, questions to a person, plans."""

from trunkline.wire.answers import kind_of
from trunkline.wire.events import SessionEvent, text_of
from trunkline.wire.myagent import messages as names
from trunkline.wire.myagent.identifiers import call_step, confirm_step
from trunkline.wire.myagent.messages import Downlink, Json
from trunkline.wire.myagent.outward_state import (
    Handler,
    Made,
    Outward,
    Turn,
    busy,
    llm_message,
    ms_between,
    number,
)

_TOOLS = {"tool": "tool_name", "skill": "skill_name", "mcp": "tool_name"}
_SOLVER = {
    "plan_step_start": names.SOLVER_START,
    "plan_step_complete": names.SOLVER_COMPLETED,
    "plan_step_failed": names.SOLVER_STEP_FAILED,
}
_SHOWN_CHARS_MAX = 1_000  # of a tool call, in a list of what happened
_SUMMARY_CHARS_MAX = 256 * 1024  # of what a person is asked; a longer one can only be denied
_TITLE_CHARS_MAX = 200


def _call_start(state: Outward, event_id: int, event: SessionEvent) -> Made:
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
            show_content=_cut(_call_text(name, text_of(event.title), given), _SHOWN_CHARS_MAX),
            metadata={
                "call_id": call_id or step_id,
                "tool_type": kind,
                "tool": name,
                "args": {} if given is None else given,
                "status": "running",
            },
        )
    ]


def _call_complete(state: Outward, event_id: int, event: SessionEvent) -> Made:
    kind = event.type.partition("_")[0]
    name = text_of(getattr(event, _TOOLS[kind])) or kind
    call_id = text_of(event.tool_call_id)
    call = state.underway.end_call(kind, call_id, name)
    step_id = call.step_id if call else call_step(event_id, name)
    failed = bool(event.is_error) or event.has_failed
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


def _question(state: Outward, event_id: int, event: SessionEvent) -> Made:
    request_id = event.question_id
    if not request_id:
        return []
    kind = kind_of(event.kind, event.options)
    name = text_of(event.tool_name)
    step_id = confirm_step(state.session_id, request_id, name or kind)
    state.underway.ask(request_id, step_id)
    seconds = number(event.timeout_seconds)
    message, given = event.asked_message, event.asked_input
    content: Json = {"message": message, "confirmation_type": kind}
    if event.options is not None:
        content["options"] = event.options
    return [
        Downlink(
            names.USER_CONFIRM,
            step_id=step_id,
            content=content,
            metadata={
                **_dialog(event, name, message),
                "tool_name": name,
                "tool_description": text_of(event.title) or message,
                "tool_args": {} if given is None else given,
                "requires_confirmation": True,
                "timeout_seconds": state.confirm_timeout_s if seconds is None else seconds,
                "critical": kind == "approve",
                "call_id": text_of(event.tool_call_id) or None,
                "multi_select": event.multi_select,
            },
        )
    ]


def _settled(state: Outward, event_id: int, event: SessionEvent) -> Made:
    """The wire has no event for a question that has its answer: `agent.thinking` with its step says
    so. After the turn's end, which settles all of its questions, nothing more is said."""
    step_id = state.underway.settle(event.question_id)
    if step_id is None or not state.underway.is_busy:
        return []
    confirmed = bool(event.confirmed)
    why = {"timeout": "Nobody answered in time.", "cancelled": "The question was withdrawn."}
    ended = "" if event.answered_by else text_of(event.reason)  # else it is that person's words
    text = why.get(ended, "Confirmed." if confirmed else "Declined.")
    metadata = {
        "thinking_type": "analysis",
        "confirmation": "confirmed" if confirmed else "denied",
        "answered_by": text_of(event.answered_by) or None,
        "reason": text_of(event.reason) or None,
    }
    return [Downlink(names.THINKING, step_id=step_id, content=text, metadata=metadata)]


def _plan(state: Outward, event_id: int, event: SessionEvent) -> Made:
    """The first plan of a turn is made; each later one says how far it is."""
    turn = state.underway.turn(text_of(event.turn_id), event_id)
    is_first = not turn.plan_step
    turn.plan_step = step = turn.plan_step or f"plan_{event_id}"
    plan = event.plan if event.plan is not None else event.content
    content = plan if isinstance(plan, dict) else {"tasks": [] if plan is None else plan}
    tasks = content.get("tasks")
    turn.task_count = len(tasks) if isinstance(tasks, list) else None
    metadata = {"task_count": turn.task_count, "plan_summary": _plan_summary(content)}
    if not is_first:
        name = names.PLAN_STEP_COMPLETED
        return [Downlink(name, step_id=step, content=content, metadata=metadata)]
    return [
        Downlink(names.PLAN_START, step_id=step, content={"question": turn.asked}),
        Downlink(names.PLAN_COMPLETED, step_id=step, content=content, metadata=metadata),
        *_still_busy(state, turn),
    ]


def _plan_summary(plan: Json) -> str:
    """Its own, else the titles of its tasks."""
    own = text_of(plan.get("plan_summary")) or text_of(plan.get("summary"))
    tasks = plan.get("tasks")
    if not own and isinstance(tasks, list):
        own = "; ".join(filter(None, map(_title, tasks)))
    return _cut(own, _SHOWN_CHARS_MAX)


def _title(task: object) -> str:
    if isinstance(task, dict):
        found = next((task[name] for name in ("title", "name", "content") if task.get(name)), "")
        return text_of(found)[:_TITLE_CHARS_MAX]
    return text_of(task)[:_TITLE_CHARS_MAX]


def _plan_step(state: Outward, event_id: int, event: SessionEvent) -> Made:
    title = text_of(event.title) or text_of(event.content) or text_of(event.message)
    error = text_of(event.error) or None
    turn = state.underway.turn(text_of(event.turn_id), event_id)
    task: Json = {"title": title}
    content: Json = {"task": task}
    if event.result is not None:
        content["result"] = event.result
    step = turn.plan_step or f"plan_{event_id}"
    metadata = {"error": error, "result": event.result}
    told = Downlink(_SOLVER[event.type], step_id=step, content=content, metadata=metadata)
    if event.type == "plan_step_start":
        turn.begin_step(title, task)
        return [told]
    turn.end_step(title)
    return [told, *_still_busy(state, turn)]


def _still_busy(state: Outward, turn: Turn) -> Made:
    return [busy(turn)] if state.underway.is_busy else []


def _call_text(name: str, title: str, given: object) -> str:
    """A tool call in one line."""
    told = title if title and title != name else ""
    return " ".join(filter(None, (name, told, text_of(given))))


def _dialog(event: SessionEvent, name: str, message: str) -> Json:
    """What a page's dialog shows: it reads neither the message nor the arguments."""
    call = _call_text(name, text_of(event.title), event.asked_input)
    lines = (message, event.asked_fence, call)
    summary = _cut("\n".join(filter(None, lines)), _SUMMARY_CHARS_MAX)
    plan = event.plan
    tasks = plan.get("tasks") if isinstance(plan, dict) else plan
    if isinstance(tasks, list):
        return {"scope": "plan", "plan_summary": summary, "tasks": tasks}
    return {"scope": "tool" if name else "question", "plan_summary": summary}


def _cut(text: str, chars_max: int) -> str:
    """As much as fits, and how much does not."""
    if len(text) <= chars_max:
        return text
    return f"{text[:chars_max]} … and {len(text) - chars_max} characters that are not shown here"


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
