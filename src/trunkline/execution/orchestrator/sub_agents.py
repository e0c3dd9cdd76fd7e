"""An agent's work for another: the same graph, with that agent's prompt, model and tools.

It runs inside the tool call that asked for it: what it waits for, the turn waits for, and it is in
the same checkpoint. The turn's limits on time hold for it; those on calls it has for itself.
"""

from typing import Any

import msgspec
from langgraph import func

from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.settings import Settings, stricter
from trunkline.execution.orchestrator.state import Json, new_turn


class _Config(msgspec.Struct):
    config: dict[str, Any]


async def ask_agent(context: Context, call: ToolCall, agent_id: str, name: str, task: str) -> str:
    """The sub-agent's answer to the task of `call`. Raises ToolError when it cannot be asked."""
    settings = msgspec.convert(await _settings(context, agent_id, name), Settings)
    nested = context.sub_agent(name, settings, call)
    asked = new_turn(context.turn.turn_id, [Message(role="user", content=task)])
    done = await context.run_nested(asked, nested)
    return done["messages"][-1]["content"]


@func.task
async def _settings(context: Context, agent_id: str, name: str) -> Json:
    """The agent's own, as they are when it gets its task; how careful to be is never less than
    the caller's. The result is in the step's checkpoint: a tool call runs again from its start
    when a person has answered, and the line may be down by then. What else the agent's
    configuration has, its servers' secrets for one, does not come to the disk."""
    try:
        found = await context.control.request("get_config", agent_id=agent_id)
        config = msgspec.convert(found, _Config).config
    except (ConnectionError, TimeoutError) as error:
        raise ToolError(f"the agent {name!r} cannot be reached now: {error}") from error
    except (RequestFailed, msgspec.ValidationError) as error:
        raise ToolError(f"the agent {name!r} cannot be asked: {error}") from error
    limits_of_session = {
        "max_turns": context.settings.max_turns,
        "max_tool_calls": context.settings.max_tool_calls,
        "approval_timeout_seconds": context.settings.approval_timeout_seconds,
    }
    settings = Settings().changed(config)[0].changed(limits_of_session)[0]
    confirm = stricter(settings.confirm, context.confirm)
    model = settings.model or context.settings.model
    return msgspec.structs.asdict(msgspec.structs.replace(settings, confirm=confirm, model=model))
