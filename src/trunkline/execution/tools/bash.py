"""`bash`: a shell command in the workspace."""

from collections.abc import Mapping

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.tools.base import Json, Tool, ToolResult, ToolRun, object_schema
from trunkline.execution.tools.command import TIMEOUT_SCHEMA, run_shown
from trunkline.execution.tools.paths import Paths
from trunkline.execution.tools.read_only import only_reads


class Bash(Tool):
    name = "bash"
    description = (
        "Runs a command with bash in the workspace and returns what it prints, errors included. "
        "There is no input to read from. Everything the command started ends with it, also what "
        "runs in the background."
    )
    parameters = object_schema(
        {
            "command": {"type": "string", "minLength": 1, "maxLength": limits.COMMAND_CHARS_MAX},
            "timeout_seconds": TIMEOUT_SCHEMA,
        },
        required=["command"],
    )

    def __init__(self, env: Mapping[str, str], paths: Paths) -> None:
        self._env = env
        self._paths = paths

    def is_dangerous(self, arguments: Json) -> bool:
        return not only_reads(str(arguments.get("command", "")), self._paths.may_read)

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        command = arguments["command"]
        if "\0" in command:
            raise ToolError("the command has a NUL character, which no command can have")
        argv = ["bash", "--noprofile", "--norc", "-c", command]
        timeout_s = float(arguments.get("timeout_seconds", limits.COMMAND_TIMEOUT_S))
        return await run_shown(argv, self._env, timeout_s, run)
