"""What a turn leaves in its checkpoint for the process that goes on: what it has used, and an end.

A turn that waits for a person keeps its usage beside the checkpoint at which the graph stopped, as
a write of a task that the graph has not got: LangGraph passes over those. A change of the state
would be another checkpoint, and at that one nobody is asked. A turn that ended half-way is made
whole, so that the next message can follow on it. Called by `turns`.
"""

import uuid
from typing import Annotated

import msgspec
import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Overwrite
from msgspec import Meta

from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.graph import AgentGraph
from trunkline.execution.orchestrator.history import unanswered
from trunkline.execution.orchestrator.state import State

_log = structlog.get_logger(__name__)

_CHANNEL = "tally"
"""As checkpoints on disk have it."""

Count = Annotated[int, Meta(ge=0)]


class TurnUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Of all agents of the turn. Everything here only grows."""

    worked_s: Annotated[float, Meta(ge=0)] = 0.0
    """Without waiting for people."""
    usage: dict[str, dict[str, Count]] = {}
    """By model."""
    call_ids: list[str] = []
    """Ids of tool calls that are taken."""

    @property
    def model_calls(self) -> int:
        return sum(of_model.get("calls", 0) for of_model in self.usage.values())


class SavedUsage:
    """Those of one session's turns."""

    def __init__(self, checkpointer: BaseCheckpointSaver[str], config: RunnableConfig) -> None:
        self._checkpointer = checkpointer
        self._config = config

    async def keep(self, usage: TurnUsage) -> None:
        """Call it when the graph has stopped, before anybody is asked."""
        stopped = await self._checkpointer.aget_tuple(self._config)
        if stopped is None:
            raise RuntimeError("the graph waits for a person and has no checkpoint")
        # A task's first write stays; while sub-agents ask again and again, there are several.
        writes = [(_CHANNEL, msgspec.to_builtins(usage))]
        await self._checkpointer.aput_writes(stopped.config, writes, uuid.uuid4().hex)

    async def newest(self) -> TurnUsage:
        """Of the turn that waits. One that cannot be read, as a snapshot may bring it, is passed
        over."""
        stopped = await self._checkpointer.aget_tuple(self._config)
        found = [TurnUsage()]
        for _, channel, value in (stopped and stopped.pending_writes) or []:
            if channel != _CHANNEL:
                continue
            try:
                found.append(msgspec.convert(value, TurnUsage))
            except msgspec.ValidationError as error:
                _log.warning("usage of a turn not understood", reason=str(error))
        return max(found, key=lambda one: (one.model_calls, one.worked_s))


NOT_FINISHED = "not finished: the turn was ended before this tool was done"


async def finish_half_done(
    graph: AgentGraph,
    config: RunnableConfig,
    *,
    asked: State | None = None,
    partial: str = "",
    partial_of: int = 0,
) -> list[Message]:
    """Keeps finished results, answers the calls that have none, keeps text that was half said.
    Returns the conversation as it is then.
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
        return messages
    if partial and partial_of > calls_saved:
        messages.append(Message(role="assistant", content=partial))
    messages.extend([_unfinished(call["id"]) for call in unanswered(messages)])
    changes = {"messages": Overwrite(messages), "questions": [], "verdicts": {}}
    await graph.aupdate_state(config, changes, as_node="respond")
    return messages


def _unfinished(tool_call_id: str) -> Message:
    return Message(role="tool", content=NOT_FINISHED, tool_call_id=tool_call_id, is_error=True)
