"""Checkpoints: our files against the savers that LangGraph offers, on the same states.

A real graph with the session's own state runs once and what it saves is recorded; then every saver
is given exactly that, call by call. The suite says how often; no server, no generator.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from bench import budgets
from bench.results import Metric, Results
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.state import State

THREAD = "bench"
CONFIG: RunnableConfig = {"configurable": {"thread_id": THREAD}}

Saver = BaseCheckpointSaver[str]
Scenario = Callable[[int, Results], list[str]]
Opener = Callable[[Path], AbstractAsyncContextManager[Saver]]


class Call(NamedTuple):
    """One thing that a graph asked of its saver."""

    checkpoint_id: str
    method: str
    arguments: tuple[Any, ...]


class Recorder(InMemorySaver):
    """Notes what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        arguments = (config, checkpoint, metadata, new_versions)
        self.calls.append(Call(checkpoint["id"], "aput", arguments))
        return await super().aput(*arguments)

    async def aput_writes(
        self, config: RunnableConfig, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        one = str(config["configurable"]["checkpoint_id"])
        self.calls.append(Call(one, "aput_writes", (config, writes, task_id, task_path)))
        await super().aput_writes(config, writes, task_id, task_path)


def checkpoints(number: int, results: Results) -> list[str]:
    """One round over all savers, another one first each time; gives what failed."""
    return asyncio.run(_round(number, results))


async def _round(number: int, results: Results) -> list[str]:
    recorder = await _recorded()
    expected = await recorder.aget(CONFIG)
    names = list(SAVERS)
    first = number % len(names)
    failures = []
    for name in names[first:] + names[:first]:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            async with SAVERS[name](Path(folder)) as saver:
                step_us = await _replayed(saver, recorder.calls)
                if await saver.aget(CONFIG) != expected:
                    failures.append(f"checkpoints, {name}: the last state came back changed")
                    continue
        results.add(Metric.CHECKPOINT, name, step_us)
    return failures


async def _replayed(saver: Saver, calls: list[Call]) -> float:
    """The median over all steps of what one step's checkpoint and writes take."""
    spent_s: dict[str, float] = {}
    for call in calls:
        method = getattr(saver, call.method)
        start = time.perf_counter()
        await method(*call.arguments)
        spent = time.perf_counter() - start
        spent_s[call.checkpoint_id] = spent_s.get(call.checkpoint_id, 0.0) + spent
    return statistics.median(spent_s.values()) * 1e6


async def _recorded() -> Recorder:
    recorder = Recorder()
    graph = _graph(recorder)
    said = budgets.CHECKPOINT_MESSAGES_FIRST
    await graph.ainvoke({"messages": [_message(number) for number in range(said)]}, CONFIG)
    while len((await graph.aget_state(CONFIG)).values["messages"]) < (
        budgets.CHECKPOINT_MESSAGES_LAST
    ):
        await graph.ainvoke({"messages": [_message(0)], "model_calls": 0}, CONFIG)
    return recorder


def _graph(saver: Saver) -> Any:
    """The steps of a turn with one tool call; their results are all that matters here."""

    def plan(state: State) -> State:
        calls = state.get("model_calls", 0) + 1
        return {"messages": [_message(len(state["messages"]))], "model_calls": calls}

    def act(state: State) -> State:
        return {"messages": [_message(len(state["messages"]))], "tool_calls": 1}

    def observe(state: State) -> State:
        return {"failures": 0}

    def reflect(state: State) -> State:
        return {"memories": ["The person likes short answers."]}

    builder = StateGraph(State)
    before = START
    for node in (plan, act, observe, reflect):
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
        before = node.__name__
    builder.add_edge(before, END)
    return builder.compile(checkpointer=saver)


def _message(number: int) -> Message:
    text = f"Message {number}. ".ljust(budgets.CHECKPOINT_MESSAGE_CHARS, "x")
    return {"role": ("user", "assistant", "tool")[number % 3], "content": text}


@asynccontextmanager
async def _ours(folder: Path) -> AsyncIterator[Saver]:
    yield LocalCheckpointer(folder / THREAD)


@asynccontextmanager
async def _sqlite(folder: Path) -> AsyncIterator[Saver]:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        await saver.setup()
        yield saver


@asynccontextmanager
async def _sqlite_without_fsync(folder: Path) -> AsyncIterator[Saver]:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous = OFF")
        yield saver


@asynccontextmanager
async def _memory(folder: Path) -> AsyncIterator[Saver]:
    yield InMemorySaver()


SAVERS: dict[str, Opener] = {
    "trunkline": _ours,
    "AsyncSqliteSaver": _sqlite,
    "AsyncSqliteSaver, no fsync": _sqlite_without_fsync,
    "InMemorySaver": _memory,
}
