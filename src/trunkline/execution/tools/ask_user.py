"""`ask_user`: a question to the person. It is asked before the step's tools run, like an approval,
so that it survives restarts; the answer is the result and `run` is never reached."""

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.tools.base import Json, Tool, ToolResult, ToolRun, object_schema


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
                "maxItems": limits.QUESTION_OPTIONS_MAX,
            },
        },
        required=["question"],
    )

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        raise ToolError("nobody was asked")
