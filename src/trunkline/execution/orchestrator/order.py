"""The order of a step's calls: side by side, unless one touches what another changes.

What may not run together runs in the order in which the model asked for it. It is decided once,
when the model has spoken, and is in the state.
"""

from collections.abc import Mapping, Sequence

from trunkline.execution.llm.base import ToolCall
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.state import Verdict
from trunkline.execution.tools.base import Touches


def order(
    context: Context, calls: Sequence[ToolCall], verdicts: Mapping[str, Verdict]
) -> dict[str, list[str]]:
    """By call, the earlier ones of its step that it has to wait for; calls that wait for none are
    left out."""
    touched = [_touches(context, call, verdicts) for call in calls]
    waits: dict[str, list[str]] = {}
    for number, call in enumerate(calls):
        before = [
            earlier["id"]
            for earlier, other in zip(calls[:number], touched, strict=False)
            if touched[number].disturbs(other)
        ]
        if before:
            waits[call["id"]] = before
    return waits


def _touches(context: Context, call: ToolCall, verdicts: Mapping[str, Verdict]) -> Touches:
    tool = context.tool(call["name"])
    if tool is None or "refused" in verdicts.get(call["id"], {}):
        return Touches()
    return tool.touches(call["arguments"])
