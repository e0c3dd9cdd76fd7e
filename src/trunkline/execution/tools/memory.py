"""`memory_search`, `memory_write`: what is remembered over all sessions, at the control plane."""

import math

from trunkline import limits
from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.texts import Excerpt
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, object_schema


class MemorySearch(Tool):
    name = "memory_search"
    description = "Searches what is remembered of this user from earlier sessions."
    parameters = object_schema(
        {
            "query": {"type": "string", "minLength": 1, "maxLength": limits.MEMORY_QUERY_CHARS_MAX},
            "top_k": {"type": "integer", "minimum": 1, "maximum": limits.MEMORY_TOP_K_MAX},
        },
        required=["query"],
    )

    def __init__(self, control: ControlPlane) -> None:
        self._control = control

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        top_k = arguments.get("top_k", limits.MEMORY_TOP_K_DEFAULT)
        try:
            found = await memories(self._control, arguments["query"], top_k)
        except (ConnectionError, TimeoutError):
            return ToolResult(
                content="(nothing found: the long-term memory cannot be reached at the moment)",
                details={"degraded": True, "results": 0},
            )
        except RequestFailed as error:
            raise ToolError(f"the memory could not be searched: {error.message}") from error
        text = Excerpt(limits.TOOL_RESULT_CHARS_MAX, head_only=True)
        text.add("\n".join(f"- {one}" for one in found) or "(nothing found)")
        return ToolResult(content=str(text), details={"results": len(found)})


async def memories(
    control: ControlPlane, query: str, top_k: int, share_of_best: float = 0.0
) -> list[str]:
    """What is remembered and fits, at least so well as that share of the best one's score. Older
    control planes answer with the bare list. Raises what `request` does."""
    answer = await control.request("memory_search", query=query, top_k=top_k)
    results = answer.get("results") if isinstance(answer, dict) else answer
    if not isinstance(results, list):
        return []
    found = [
        (_score(one), one["content"])
        for one in results
        if isinstance(one, dict) and isinstance(one.get("content"), str)
    ]
    least = share_of_best * max((score for score, _ in found), default=0.0)
    return [content for score, content in found if score >= least][:top_k]


def _score(entry: Json) -> float:
    """0 where none is told: then all are alike."""
    match entry.get("score"):
        case int() | float() as score if not isinstance(score, bool) and math.isfinite(score):
            return float(score)
        case _:
            return 0.0


class MemoryWrite(Tool):
    name = "memory_write"
    keeps = True
    description = "Remembers something about this user for later sessions."
    parameters = object_schema(
        {
            "content": {
                "type": "string",
                "minLength": 1,
                "maxLength": limits.MEMORY_CONTENT_CHARS_MAX,
            }
        },
        required=["content"],
    )

    def __init__(self, control: ControlPlane) -> None:
        self._control = control

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        # A report, no request: without a line it is kept here and sent when the line is back.
        self._control.fire_and_forget(
            "memory_write",
            content=arguments["content"],
            metadata={"session_id": run.session_id, "source": "agent"},
        )
        return ToolResult(content="Remembered.")
