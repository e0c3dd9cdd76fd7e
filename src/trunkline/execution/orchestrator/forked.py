"""What a session that is a copy of another one begins with: the other's conversation up to a turn.

The daemon has put the other's newest checkpoint in place, if this machine has it; what came after
the turn is cut off here. Otherwise the control plane's own record of it is taken, which knows what
was said, every tool call and every result. Called by `session`, once, before the first turn.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec
import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from trunkline.execution.files import write_atomic
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import Message, ToolCall
from trunkline.execution.memory.local_memory import LocalShortTermMemory, Section, render
from trunkline.execution.orchestrator.graph import AgentGraph
from trunkline.execution.orchestrator.state import new_turn
from trunkline.execution.session import ipc

_log = structlog.get_logger(__name__)

MARK = "forked"
"""The file that says that this was done."""


class _Call(msgspec.Struct):
    id: str
    name: str
    arguments: Json = {}


class _Entry(msgspec.Struct):
    role: Literal["user", "assistant", "tool"]
    content: str = ""
    turn_id: str | None = None
    steers: str | None = None
    tool_calls: list[_Call] = []
    tool_call_id: str = ""
    is_error: bool = False


async def begin(
    graph: AgentGraph,
    config: RunnableConfig,
    fork: ipc.Fork,
    folder: Path,
    memory: LocalShortTermMemory,
) -> None:
    """Whatever was done of this before a crash is done again, or left as it is."""
    if (folder / MARK).exists():
        return
    state = await graph.aget_state(config)
    messages = upto(state.values.get("messages", []), fork.turn_id)
    how = "its checkpoint"
    if messages is None:
        messages, how = remembered(fork.history), "the log"
    begun = {**new_turn("", []), "messages": Overwrite(messages)}
    await graph.aupdate_state(config, begun, as_node="respond")
    await memory.restore({"conversation": _as_text(messages)})
    write_atomic(folder / MARK, b"")
    _log.info("forked", session=folder.name, source=fork.session_id, messages=len(messages), by=how)


def upto(messages: Sequence[Message], turn_id: str) -> list[Message] | None:
    """The conversation up to the end of that turn; None where it cannot be told."""
    starts = [index for index, one in enumerate(messages) if "turn_id" in one]
    for index in starts:
        if messages[index].get("turn_id") == turn_id:
            end = next((one for one in starts if one > index), len(messages))
            return list(messages[:end])
    return None


def remembered(history: Sequence[Json]) -> list[Message]:
    """As the control plane tells it; entries of another shape are passed over."""
    found: list[Message] = []
    for one in history:
        try:
            entry = msgspec.convert(one, _Entry)
        except msgspec.ValidationError as error:
            _log.warning("a remembered message is left out", reason=str(error))
            continue
        message = Message(role=entry.role, content=entry.content)
        if entry.role == "user" and entry.steers:
            message["steers"] = entry.steers
        elif entry.role == "user" and entry.turn_id:
            message["turn_id"] = entry.turn_id
        if entry.tool_calls:
            message["tool_calls"] = [
                ToolCall(id=call.id, name=call.name, arguments=call.arguments)
                for call in entry.tool_calls
            ]
        if entry.role == "tool":
            message["tool_call_id"], message["is_error"] = entry.tool_call_id, entry.is_error
        found.append(message)
    return found


def _as_text(messages: Sequence[Message]) -> str:
    """For `conversation.md`, where a section is known by its role and its time."""
    began = datetime.now(UTC)
    said = [one for one in messages if one["role"] != "tool" and one["content"].strip()]
    times = (began + timedelta(microseconds=number) for number in range(len(said)))
    return "".join(
        render(Section(one["role"], at.isoformat(timespec="microseconds"), one["content"]))
        for one, at in zip(said, times, strict=True)
    )
