"""`code_execution`: Python code, executed in the workspace by this interpreter.

As a program of its own, from a private file that is gone afterwards. The machine is the boundary.
Scripts of skills are run by `bash`.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from trunkline.execution.json_object import Json
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema
from trunkline.execution.tools.commands import TIMEOUT_SCHEMA, run_shown, timeout_of

CODE_CHARS_MAX = 1_000_000


class CodeExecution(Tool):
    name = "code_execution"
    description = (
        "Runs Python code as a program of its own in the workspace and returns what it prints. "
        "Nothing is kept from one call to the next but files."
    )
    parameters = object_schema(
        {
            "code": {"type": "string", "minLength": 1, "maxLength": CODE_CHARS_MAX},
            "timeout_seconds": TIMEOUT_SCHEMA,
        },
        required=["code"],
    )

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def is_dangerous(self, arguments: Json) -> bool:
        return True

    def touches(self, arguments: Json) -> Touches:
        return Touches(everything=True)

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        timeout_s = timeout_of(arguments, run)
        with tempfile.TemporaryDirectory(prefix="code-") as folder:
            script = _written(Path(folder), arguments["code"])
            # Unbuffered, so that output is seen while it runs; modules of the workspace are found.
            argv = [sys.executable, "-u", "-B", str(script)]
            env = {**self._env, "PYTHONPATH": str(run.workspace)}
            return await run_shown(argv, env, timeout_s, run)


def _written(folder: Path, code: str) -> Path:
    script = folder / "code.py"
    script.write_text(code, encoding="utf-8")
    return script
