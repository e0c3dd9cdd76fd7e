"""What a turn leaves for people: `conversation.md`, and a skill that they may keep.

The checkpoint is what a session goes on from; these are a convenience, and a full disk does not
end a turn because of them. Candidates for skills (`evolution_submit`) are modest on purpose: which
tools led to the answer; the judgement is the control plane's and its people's.
"""

import json
from collections.abc import Awaitable, Sequence
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.history import turn_results
from trunkline.execution.texts import clipped

_log = structlog.get_logger(__name__)

EVOLUTION_STEPS_MIN = 3  # successful tool calls that make a turn worth learning from

QUESTION = 0
"""The person's message among the parts of a turn; the text of model call n is part n, and
what is said while it runs has its message's id."""


async def note_said(context: Context, role: str, text: str, part: int | str) -> None:
    """Writes a part of the session's own conversation, once: whoever ends a turn half-way cannot
    know how far it came."""
    if context.depth or not text.strip() or part in context.turn.noted:
        return
    context.turn.noted.add(part)
    await noted(context, context.memory.save_message(role, text))


async def noted(context: Context, saving: Awaitable[None]) -> None:
    """Waits for something to be saved, and goes on without it where that fails."""
    try:
        await saving
    except (OSError, ValueError) as error:
        _log.warning("memory not written", session_id=context.session_id, reason=str(error))


_TITLE_CHARS = 60


def candidate(messages: Sequence[Message]) -> dict[str, Any] | None:
    """The newest turn as a skill, if several of its tool calls worked."""
    done = turn_results(messages)
    worked = [call for call, result in done if not result.get("is_error")]
    if len(worked) < EVOLUTION_STEPS_MIN:
        return None
    asked = next(one["content"] for one in reversed(messages) if one["role"] == "user")
    title = " ".join(asked.split())[:_TITLE_CHARS] or "a task"
    steps = "\n".join(
        f"{number}. `{call['name']}` with `{json.dumps(_small(call['arguments']))}`"
        for number, call in enumerate(worked, 1)
    )
    description = f"How this was done: {title}"
    head = f"---\nname: {json.dumps(title)}\ndescription: {json.dumps(description)}\n---\n"
    return {
        "name": title,
        "description": description,
        "skill_md": f"{head}\n# {title}\n\nSteps that worked:\n\n{steps}\n",
        "quality_score": round(len(worked) / len(done), 2),
    }


def _small(arguments: Any) -> Any:
    return clipped(arguments, limits.AUDIT_VALUE_CHARS_MAX)
