"""Where a turn goes next. Reads the state, changes nothing."""

from langgraph.runtime import Runtime
from langgraph.types import Send

from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.history import unanswered
from trunkline.execution.orchestrator.state import State, Step, Verdict


def before_plan(state: State, runtime: Runtime[Context]) -> str:
    """What people have said meanwhile comes before the next model call."""
    return "listen" if _is_steered(state, runtime) else "plan"


def after_plan(state: State, runtime: Runtime[Context]) -> str | list[Send]:
    """To make room where that is needed, to people when they are, to the tools when there are
    calls, else to the end; unless somebody has said something to the turn that the model has not
    got."""
    if state.get("squeeze"):
        return "compact"
    if state["questions"]:
        return "approve"
    return to_tools(state) or ("listen" if _is_steered(state, runtime) else "reflect")


def _is_steered(state: State, runtime: Runtime[Context]) -> bool:
    """Only while the turn may call its model once more: what it does not take becomes a turn of its
    own."""
    context = runtime.context
    return context.is_steered and state["model_calls"] < context.settings.max_turns


def to_tools(state: State) -> list[Send]:
    """Every call of the step is a task of its own."""
    return [
        Send("act", Step(call=call, verdict=state["verdicts"].get(call["id"], Verdict())))
        for call in unanswered(state["messages"])
    ]
