"""A real LangGraph graph on our files: it stops, the process ends, it goes on."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from tests.unit.execution.checkpoint.savers import SESSION, Saver
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer

CONFIG: RunnableConfig = {"configurable": {"thread_id": SESSION}}


class State(TypedDict, total=False):
    said: Annotated[list[str], operator.add]
    answer: Any


def plan(state: State) -> State:
    return {"said": [f"plan {len(state['said'])}"]}


def approve(state: State) -> State:
    return {"answer": interrupt({"question": "May I?"})}


def respond(state: State) -> State:
    return {"said": [f"answer {state['answer']}"]}


def asking_graph(saver: Saver, **options: Any) -> Any:
    builder = StateGraph(State)
    for name, node in (("plan", plan), ("approve", approve), ("respond", respond)):
        builder.add_node(name, node)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "approve")
    builder.add_edge("approve", "respond")
    builder.add_edge("respond", END)
    return builder.compile(checkpointer=saver, **options)


async def test_a_question_is_answered_after_a_restart(session_dir: Path) -> None:
    asked = await asking_graph(LocalCheckpointer(session_dir)).ainvoke({"said": ["hi"]}, CONFIG)
    assert [one.value for one in asked["__interrupt__"]] == [{"question": "May I?"}]
    again = asking_graph(LocalCheckpointer(session_dir))
    state = await again.aget_state(CONFIG)
    assert state.next == ("approve",)
    assert [one.value for one in state.interrupts] == [{"question": "May I?"}]
    result = await again.ainvoke(Command(resume="yes"), CONFIG)
    assert result["said"] == ["hi", "plan 1", "answer yes"]
    assert (await again.aget_state(CONFIG)).next == ()


async def test_many_turns_go_on_over_many_restarts(session_dir: Path) -> None:
    for turn in range(8):
        saver = LocalCheckpointer(session_dir)
        await asking_graph(saver).ainvoke({"said": [f"turn {turn}"]}, CONFIG)
        result = await asking_graph(saver).ainvoke(Command(resume=turn), CONFIG)
    assert len(result["said"]) == 8 * 3
    assert result["said"][-3:] == ["turn 7", "plan 22", "answer 7"]
    assert len(list((session_dir / "checkpoints").glob("*.json"))) == 10


async def test_a_question_inside_a_subgraph_is_answered_after_a_restart(
    session_dir: Path,
) -> None:
    def graph() -> Any:
        outer = StateGraph(State)
        outer.add_node("inner", asking_graph(None))  # type: ignore[arg-type]
        outer.add_edge(START, "inner")
        outer.add_edge("inner", END)
        return outer.compile(checkpointer=LocalCheckpointer(session_dir))

    asked = await graph().ainvoke({"said": ["hi"]}, CONFIG)
    assert len(asked["__interrupt__"]) == 1
    result = await graph().ainvoke(Command(resume="yes"), CONFIG)
    assert result["said"][-2:] == ["plan 1", "answer yes"]


async def test_after_a_failed_step_the_finished_tasks_do_not_run_again(session_dir: Path) -> None:
    runs = {"good": 0, "bad": 0}

    async def good(state: State) -> State:
        runs["good"] += 1
        return {"said": ["good"]}

    async def bad(state: State) -> State:
        runs["bad"] += 1
        if runs["bad"] == 1:
            raise ConnectionError("gone")
        return {"said": ["bad"]}

    def graph() -> Any:
        builder = StateGraph(State)
        builder.add_node("good", good)
        builder.add_node("bad", bad)
        builder.add_edge(START, "good")
        builder.add_edge(START, "bad")
        return builder.compile(checkpointer=LocalCheckpointer(session_dir))

    with pytest.raises(ConnectionError):
        await graph().ainvoke({"said": []}, CONFIG)
    result = await graph().ainvoke(None, CONFIG)
    assert sorted(result["said"]) == ["bad", "good"]
    assert runs == {"good": 1, "bad": 2}


async def test_going_back_in_time_and_on_from_there(saver: Saver) -> None:
    graph = asking_graph(saver)
    await graph.ainvoke({"said": ["hi"]}, CONFIG)
    await graph.ainvoke(Command(resume="no"), CONFIG)
    states = [state async for state in graph.aget_state_history(CONFIG)]
    asked = next(state for state in states if state.next == ("approve",))
    assert "__interrupt__" in await graph.ainvoke(None, asked.config)
    result = await graph.ainvoke(Command(resume="yes"), CONFIG)
    assert result["said"] == ["hi", "plan 1", "answer yes"]
    changed = await graph.aupdate_state(CONFIG, {"said": ["by hand"]})
    assert (await graph.aget_state(changed)).values["said"][-1] == "by hand"
