"""A turn that ended half-way, made whole so that the next message can follow on it."""

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.graph import AgentGraph
from trunkline.execution.orchestrator.history import unanswered
from trunkline.execution.orchestrator.state import State

NOT_FINISHED = "not finished: the turn was ended before this tool was done"


async def finish_half_done(
    graph: AgentGraph,
    config: RunnableConfig,
    *,
    asked: State | None = None,
    partial: str = "",
    partial_of: int = 0,
) -> None:
    """Keeps finished results, answers the calls that have none, keeps text that was half said.
    `asked` is what the turn began with, in case it ended before that was saved; `partial` is
    what model call `partial_of` said, in case that was not."""
    state = await graph.aget_state(config)
    # The state's values include results of tasks whose step never ended.
    messages: list[Message] = list(state.values.get("messages", []))
    calls_saved = state.values.get("model_calls", 0)
    if asked is not None and state.values.get("turn_id") != asked["turn_id"]:
        messages += asked["messages"]
        calls_saved = 0
    elif not state.next:
        return
    if partial and partial_of > calls_saved:
        messages.append(Message(role="assistant", content=partial))
    messages.extend([_unfinished(call["id"]) for call in unanswered(messages)])
    changes = {"messages": Overwrite(messages), "questions": [], "verdicts": {}}
    await graph.aupdate_state(config, changes, as_node="respond")


def _unfinished(tool_call_id: str) -> Message:
    return Message(role="tool", content=NOT_FINISHED, tool_call_id=tool_call_id, is_error=True)
