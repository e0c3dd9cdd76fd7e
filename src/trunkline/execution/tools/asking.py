"""`ask_user` and `delegate`: a question to the person, and a task for another agent.

A question is asked before the step's tools run, like an approval, so that it survives restarts; the
answer is the result, and `AskUser.run` is never reached. A delegated task's answer is its result.
"""

from collections.abc import Collection, Sequence
from typing import Any

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema

QUESTION_OPTIONS_MAX = 20


class AskUser(Tool):
    """The model's way to ask for what only the person knows."""

    name = "ask_user"
    description = (
        "Ask the person a question and wait for the answer. Use it when you cannot go on without "
        "a decision or a fact that only they have. Give options when the choice is among a few."
    )
    parameters = object_schema(
        {
            "question": {"type": "string", "minLength": 1, "maxLength": limits.ANSWER_CHARS_MAX},
            "options": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": limits.NAME_CHARS_MAX},
                "maxItems": QUESTION_OPTIONS_MAX,
            },
        },
        required=["question"],
    )

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        raise ToolError("nobody was asked")


class Delegate(Tool):
    """Offered to an agent that has sub-agents; entries without an id are passed over."""

    name = "delegate"

    def __init__(self, sub_agents: Sequence[Any]) -> None:
        self._sub_agents = sub_agents
        self._ids: dict[str, str] = {}
        described: list[str] = []
        for entry in sub_agents[: limits.NAMES_MAX]:
            if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
                continue
            name = str(entry.get("name") or entry["id"])[: limits.NAME_CHARS_MAX]
            self._ids[name] = entry["id"]
            about = str(entry.get("description") or "")[: limits.SKILL_DESCRIPTION_CHARS_MAX]
            described.append(f"- {name}: {about}" if about else f"- {name}")
        listed = "\n".join(described)
        self.description = (
            "Give a task to another agent and get its answer. It sees only the task, so say "
            f"everything it needs to know. Agents:\n{listed}"
        )
        self.parameters = object_schema(
            {
                "agent": {"type": "string", "enum": list(self._ids)},
                "task": {"type": "string", "minLength": 1, "maxLength": limits.TEXT_CHARS_MAX},
            },
            required=["agent", "task"],
        )

    @property
    def agents(self) -> list[str]:
        return list(self._ids)

    def among(self, agent_ids: Collection[str]) -> "Delegate | None":
        """For an agent that may ask these alone; None when nobody is left."""
        known = (one for one in self._sub_agents if isinstance(one, dict))
        some = Delegate([one for one in known if one.get("id") in agent_ids])
        return some if some.agents else None

    def touches(self, arguments: Json) -> Touches:
        return Touches(everything=True, beside=self.name)

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        name = arguments["agent"]
        answer = await run.ask_agent(self._ids[name], name, arguments["task"])
        return ToolResult(content=answer or "(the agent gave no answer)", details={"agent": name})
