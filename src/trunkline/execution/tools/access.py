"""`bash_with_access`: one command with more than the fence allows, after a person's yes.

The session asks; the daemon, which has seen question and answer, runs it.
"""

from collections.abc import Mapping

import msgspec

from trunkline import limits, names
from trunkline.execution.errors import RequestFailed, ToolError
from trunkline.execution.fence.access import PATHS_MAX, Access
from trunkline.execution.fence.launcher import Report
from trunkline.execution.json_object import Json
from trunkline.execution.line import ControlPlane
from trunkline.execution.session import grants
from trunkline.execution.tools.base import ToolResult, ToolRun, Touches, object_schema
from trunkline.execution.tools.commands import (
    COMMAND_CHARS_MAX,
    TIMEOUT_SCHEMA,
    Bash,
    command_result,
    timeout_of,
)
from trunkline.execution.tools.text_files import Paths

_PATHS: Json = {
    "type": "array",
    "maxItems": PATHS_MAX,
    "items": {"type": "string", "minLength": 1, "maxLength": limits.FILE_PATH_CHARS_MAX},
}


class BashWithAccess(Bash):
    name = names.ACCESS_TOOL
    description = (
        "Runs one command as bash does, with more than the fence around this session allows: "
        "other files to read or write, Unix sockets of other programs to connect to (full paths "
        "without links that exist, as few as possible), or the whole network. A person is asked "
        "each time, so use it only when bash was refused something that the work needs, and say "
        "why. What it prints comes at its end."
    )
    parameters = object_schema(
        {
            "command": {"type": "string", "minLength": 1, "maxLength": COMMAND_CHARS_MAX},
            "why": {"type": "string", "minLength": 1, "maxLength": 2_000},
            "read": _PATHS,
            "write": _PATHS,
            "sockets": _PATHS,
            "network": {"type": "boolean"},
            "timeout_seconds": TIMEOUT_SCHEMA,
        },
        required=["command", "why"],
    )
    leaves_fence = True

    def __init__(self, env: Mapping[str, str], paths: Paths, control: ControlPlane) -> None:
        super().__init__(env, paths)
        self._control = control

    def rule_name(self, arguments: Json) -> str:
        return Bash.name

    def is_dangerous(self, arguments: Json) -> bool:
        return True

    def touches(self, arguments: Json) -> Touches:
        return Touches(everything=True)

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        if "\0" in arguments["command"]:
            raise ToolError("the command has a NUL character, which no command can have")
        if not msgspec.convert(arguments, Access).told:
            raise ToolError(
                "say what it needs besides: read, write, sockets or network; else use bash"
            )
        timeout_s = timeout_of(arguments, run)
        try:
            said = await self._control.request(
                grants.METHOD,
                request_id=run.granted,
                tool_input=arguments,
                timeout_s=timeout_s,
            )
        except (RequestFailed, ConnectionError) as error:
            raise ToolError(f"not run: {error}") from error
        report = msgspec.convert(said, Report)
        assert report.finished is not None
        return command_result(report.output, report.cut_chars, report.finished, timeout_s)
