"""`code_execution`: Python code in the workspace."""

from collections.abc import Mapping

from trunkline import limits
from trunkline.execution.skills.code_executor import execute_python
from trunkline.execution.tools.base import Json, Tool, ToolResult, ToolRun, object_schema
from trunkline.execution.tools.command import TIMEOUT_SCHEMA


class CodeExecution(Tool):
    name = "code_execution"
    description = (
        "Runs Python code as a program of its own in the workspace and returns what it prints. "
        "Nothing is kept from one call to the next but files."
    )
    parameters = object_schema(
        {
            "code": {"type": "string", "minLength": 1, "maxLength": limits.CODE_CHARS_MAX},
            "timeout_seconds": TIMEOUT_SCHEMA,
        },
        required=["code"],
    )

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def is_dangerous(self, arguments: Json) -> bool:
        return True

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        timeout_s = float(arguments.get("timeout_seconds", limits.COMMAND_TIMEOUT_S))
        return await execute_python(arguments["code"], self._env, timeout_s, run)
