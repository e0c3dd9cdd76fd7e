"""What `bash` and `code_execution` share: a program that is shown while it runs, and its result."""

from collections.abc import Mapping

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.process.programs import Finished, ending, run_process
from trunkline.execution.tools.base import Json, ToolResult, ToolRun
from trunkline.execution.tools.excerpt import Excerpt
from trunkline.execution.tools.progress import Progress

TIMEOUT_SCHEMA: Json = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": limits.COMMAND_TIMEOUT_S_MAX,
    "description": f"How long it may take; {limits.COMMAND_TIMEOUT_S:g} unless set.",
}


async def run_shown(
    argv: list[str], env: Mapping[str, str], timeout_s: float, run: ToolRun
) -> ToolResult:
    """Runs a program in the workspace, shows its output while it runs, and says how it ended."""
    output = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
    progress = Progress(run.progress)

    def take(text: str) -> None:
        output.add(text)
        progress.add(text)

    try:
        finished = await run_process(
            argv, cwd=run.workspace, env=env, timeout_s=timeout_s, take=take
        )
    except OSError as error:
        raise ToolError(f"{argv[0]} cannot be started: {error.strerror or error}") from error
    finally:
        progress.close()
    return _result(output, finished, timeout_s)


def _result(output: Excerpt, finished: Finished, timeout_s: float) -> ToolResult:
    how = ending(finished, timeout_s)
    text = str(output).rstrip("\n")
    if how:
        text = f"{text}\n[{how}]" if text else f"[{how}]"
    return ToolResult(
        content=text or "(no output)",
        is_error=bool(how),
        details={
            "exit_code": finished.exit_code,
            "timed_out": finished.timed_out,
            "output_cut_chars": output.cut_chars,
        },
    )
