"""Where a turn goes next. Reads the state, changes nothing."""

from langgraph.types import Send

from trunkline.execution.orchestrator.history import unanswered
from trunkline.execution.orchestrator.loops import name_of
from trunkline.execution.orchestrator.state import State, Step, Verdict

Next = list[Send | str]


def after_plan(state: State) -> Next:
    """To make room where that is needed, to the tools when there are calls, else to the end."""
    if state.get("squeeze"):
        return ["compact"]
    return to_tools(state) or ["reflect"]


def after_observe(state: State) -> Next:
    """Calls that waited for a person, or for a call that did, come now; then the model."""
    return to_tools(state) or ["plan"]


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
