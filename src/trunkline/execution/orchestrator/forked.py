"""What a session that is a copy of another one begins with: the other's conversation up to a turn.

The daemon has put the other's newest checkpoint in place, if this machine has it; what came after
the turn is cut off here. Otherwise the control plane's own record of it is taken, which knows what
was said, every tool call and every result. Called by `session`, once, before the first turn.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from trunkline.execution.attachments import FOLDER
from trunkline.execution.files import write_atomic
from trunkline.execution.llm.base import Message
from trunkline.execution.memory.local_memory import LocalShortTermMemory, Section, render
from trunkline.execution.orchestrator.from_log import messages_of, said_in
from trunkline.execution.orchestrator.graph import AgentGraph
from trunkline.execution.orchestrator.state import new_turn
from trunkline.execution.session import ipc

_log = structlog.get_logger(__name__)

MARK = "forked"
"""The file that says that this was done."""


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
        messages, how = with_files(messages_of(said_in(fork.history)), folder), "the log"
    messages = moved(messages, fork, folder.name)
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


def moved(messages: Sequence[Message], fork: ipc.Fork, target: str) -> list[Message]:
    """With the names that turns have in the copy, and files attached to the conversation in its
    own folder."""
    there, here = f"/{fork.session_id}/{FOLDER}/", f"/{target}/{FOLDER}/"
    found: list[Message] = []
    for one in messages:
        renamed = one.copy()
        renamed["content"] = one["content"].replace(there, here)
        if "turn_id" in one:
            renamed["turn_id"] = fork.turns.get(one["turn_id"], one["turn_id"])
        found.append(renamed)
    return found


def with_files(messages: Sequence[Message], folder: Path) -> list[Message]:
    """The log has what people said, and not where the files are that came with it."""
    kept = sorted((folder / FOLDER).glob("*"))
    if not (kept and messages):
        return list(messages)
    told = "\n".join(["Files that came with this conversation:", *(f"- {one}" for one in kept)])
    first = messages[0].copy()
    first["content"] = f"{first['content']}\n\n{told}".strip()
    return [first, *messages[1:]]


def _as_text(messages: Sequence[Message]) -> str:
    """For `conversation.md`, where a section is known by its role and its time."""
    began = datetime.now(UTC)
    said = [one for one in messages if one["role"] != "tool" and one["content"].strip()]
    times = (began + timedelta(microseconds=number) for number in range(len(said)))
    return "".join(
        render(Section(one["role"], at.isoformat(timespec="microseconds"), one["content"]))
        for one, at in zip(said, times, strict=True)
    )
