"""The peer of a turn: a bare LangGraph agent with `InMemorySaver`, and nothing around it.

    python -m bench.node.bare BASE_URL FOLDER TURNS

prints the time of each turn in milliseconds, as a JSON list. A model node that streams with the
official SDK, a tool node that reads the same file, a loop between them.
"""

import asyncio
import json
import operator
import sys
import time
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from openai import AsyncOpenAI

TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}


class State(TypedDict):
    messages: Annotated[list[dict[str, Any]], operator.add]


async def main(base_url: str, folder: Path, turns: int) -> list[float]:
    client = AsyncOpenAI(base_url=base_url, api_key="none")

    async def model(state: State) -> State:
        text: list[str] = []
        calls: dict[int, dict[str, Any]] = {}
        stream: Any = await client.chat.completions.create(  # type: ignore[call-overload]
            model="gpt-bench",
            messages=state["messages"],
            tools=[TOOL],
            stream=True,
            stream_options={"include_usage": True},
        )
        async for chunk in stream:
            for choice in chunk.choices:
                if choice.delta.content:
                    text.append(choice.delta.content)
                for call in choice.delta.tool_calls or ():
                    function = {"name": call.function.name, "arguments": call.function.arguments}
                    calls[call.index] = {"id": call.id, "type": "function", "function": function}
        message: dict[str, Any] = {"role": "assistant", "content": "".join(text)}
        if calls:
            message["tool_calls"] = list(calls.values())
        return {"messages": [message]}

    async def tool(state: State) -> State:
        results = []
        for call in state["messages"][-1]["tool_calls"]:
            path = folder / json.loads(call["function"]["arguments"])["path"]
            content = path.read_text()
            results.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        return {"messages": results}

    def after_model(state: State) -> str:
        return "tool" if state["messages"][-1].get("tool_calls") else END

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", after_model, ["tool", END])
    graph.add_edge("tool", "model")
    agent = graph.compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "bench"}}
    times_ms = []
    for _ in range(turns):
        started = time.perf_counter()
        await agent.ainvoke({"messages": [{"role": "user", "content": "tool please"}]}, config)
        times_ms.append((time.perf_counter() - started) * 1000)
    return times_ms


if __name__ == "__main__":
    url, place, count = sys.argv[1:]
    print(json.dumps(asyncio.run(main(url, Path(place), int(count)))))
