"""A turn worth learning from, as a skill that people may keep (`evolution_submit`).

Modest on purpose: it writes down which tools led to the answer, and leaves the judgement to the
control plane and its people.
"""

import json
from collections.abc import Sequence
from typing import Any

from trunkline import limits
from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator.clipping import clipped
from trunkline.execution.orchestrator.history import turn_results

_TITLE_CHARS = 60


def candidate(messages: Sequence[Message]) -> dict[str, Any] | None:
    """The newest turn as a skill, if several of its tool calls worked."""
    done = turn_results(messages)
    worked = [call for call, result in done if not result.get("is_error")]
    if len(worked) < limits.EVOLUTION_STEPS_MIN:
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
