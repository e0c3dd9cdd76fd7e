"""Python code, executed in the workspace by this interpreter. The machine is the boundary.

For the tool `code_execution`; scripts of skills are run by `bash`.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from trunkline.execution.tools.base import ToolResult, ToolRun
from trunkline.execution.tools.command import run_shown


async def execute_python(
    code: str, env: Mapping[str, str], timeout_s: float, run: ToolRun
) -> ToolResult:
    """Runs it as a program of its own, from a private file that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="code-") as folder:
        script = _written(Path(folder), code)
        # Unbuffered, so that output is seen while it runs; modules of the workspace are found.
        argv = [sys.executable, "-u", "-B", str(script)]
        return await run_shown(argv, {**env, "PYTHONPATH": str(run.workspace)}, timeout_s, run)


def _written(folder: Path, code: str) -> Path:
    script = folder / "code.py"
    script.write_text(code, encoding="utf-8")
    return script
