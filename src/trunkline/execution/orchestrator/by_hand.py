"""A person shortens the conversation between two turns (`/compact`). Called by `turns`."""

import asyncio

import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from trunkline.execution.errors import ModelError, TurnError
from trunkline.execution.llm import tokens
from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.graph import AgentGraph
from trunkline.execution.orchestrator.room import room
from trunkline.execution.orchestrator.summary import compacted, tell_compacted

_log = structlog.get_logger(__name__)

_STAYS = 3  # a third of the conversation is what may stay as it is, at most
_SHORT = "The conversation is short already."


async def compact_by_hand(graph: AgentGraph, config: RunnableConfig, context: Context) -> None:
    """Tells how it ended, in any case; where it came to nothing, the conversation is as it was."""
    try:
        state = await graph.aget_state(config)
        messages: list[Message] = list(state.values.get("messages", []))
        place, said = await room(context, messages)
        done = await compacted(context, messages, place, place.free, stays=said // _STAYS)
        if tokens.of_messages(done.messages) < tokens.of_messages(messages):
            changes = {"messages": Overwrite(done.messages)}
            await graph.aupdate_state(config, changes, as_node="respond")
            tell_compacted(context, place, said, done, by="user")
            return
        reason = _SHORT
    except asyncio.CancelledError:
        reason = "It was cancelled."
    except (ModelError, TurnError) as error:
        reason = error.message
    except Exception as error:
        _log.exception("conversation not shortened", session_id=context.session_id)
        reason = f"Unexpected: {type(error).__name__}: {error}"
    context.emit("context_compacted", how="nothing", by="user", reason=reason)
