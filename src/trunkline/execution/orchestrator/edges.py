"""Where a turn goes next. Reads the state, changes nothing."""

from langgraph.runtime import Runtime
from langgraph.types import Send

from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.history import unanswered
from trunkline.execution.orchestrator.loops import name_of
from trunkline.execution.orchestrator.state import State, Step, Verdict

Next = list[Send | str]


def before_plan(state: State, runtime: Runtime[Context]) -> str:
    """What people have said meanwhile comes before the next model call."""
    return "listen" if _is_steered(state, runtime) else "plan"


def after_plan(state: State, runtime: Runtime[Context]) -> Next:
    """To make room where that is needed, to the tools when there are calls, else to the end; unless
    somebody has said something to the turn that the model has not got."""
    if state.get("squeeze"):
        return ["compact"]
    return to_tools(state) or ["listen" if _is_steered(state, runtime) else "reflect"]


def _is_steered(state: State, runtime: Runtime[Context]) -> bool:
    """Only while the turn may call its model once more: what it does not take becomes a turn of its
    own."""
    context = runtime.context
    return context.is_steered and state["model_calls"] < context.settings.max_turns


def after_observe(state: State, runtime: Runtime[Context]) -> Next:
    """Calls that waited for a person, or for a call that did, come now; then the model."""
    return to_tools(state) or [before_plan(state, runtime)]


def to_tools(state: State) -> Next:
    """Every call of the step is a task of its own, and so are its questions to people: what needs
    none, and does not wait for what does, runs meanwhile."""
    held = {question["tool_call_id"] for question in state["questions"]}
    waits, repeats = state.get("waits", {}), state.get("repeats", {})
    open_calls = unanswered(state["messages"])
    tasks: Next = ["approve"] if held else []
    ready = set[str]()
    for call in open_calls:
        call_id = call["id"]
        before = waits.get(call_id, [])
        if call_id in held or not held.isdisjoint(before):
            held.add(call_id)
            continue
        ready.add(call_id)
        step = Step(call=call, verdict=state["verdicts"].get(call_id, Verdict()))
        if beside := [one for one in before if one in ready]:
            step["waits"] = beside
        if repeat := repeats.get(name_of(call)):
            step["before"] = repeat
        tasks.append(Send("act", step))
    return tasks
