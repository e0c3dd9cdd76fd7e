"""Where a turn goes next. Reads the state, changes nothing."""

from langgraph.types import Send

from trunkline.execution.orchestrator.history import unanswered
from trunkline.execution.orchestrator.state import State, Step, Verdict


def after_plan(state: State) -> str | list[Send]:
    """To make room where that is needed, to people when they are, to the tools when there are
    calls, else to the end."""
    if state.get("squeeze"):
        return "compact"
    if state["questions"]:
        return "approve"
    return to_tools(state) or "reflect"


def to_tools(state: State) -> list[Send]:
    """Every call of the step is a task of its own."""
    return [
        Send("act", Step(call=call, verdict=state["verdicts"].get(call["id"], Verdict())))
        for call in unanswered(state["messages"])
    ]
