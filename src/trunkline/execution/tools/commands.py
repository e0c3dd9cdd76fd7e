"""`bash`, and what it shares with `code_execution`: programs that are shown while they run."""

import asyncio
from collections.abc import Callable, Mapping

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import Finished, ending, run_process
from trunkline.execution.texts import Excerpt
from trunkline.execution.tools.background import Background
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema
from trunkline.execution.tools.text_files import Paths
from trunkline.permissions.reading import Place, only_reads

COMMAND_CHARS_MAX = 100_000  # Linux takes 131,071 bytes in one argument
PROGRESS_INTERVAL_S = 0.1  # between two pieces of a running tool's output
PROGRESS_PIECE_CHARS_MAX = 4_000
PROGRESS_CHARS_MAX = 100_000  # of one call; the result holds both ends whatever was shown


class OutputProgress:
    """Gathers text between two beats. Shows a bounded amount, then says that there is more."""

    def __init__(
        self, show: Callable[[str], None], interval_s: float = PROGRESS_INTERVAL_S
    ) -> None:
        self._show = show
        self._interval_s = interval_s
        self._waiting = Excerpt(PROGRESS_PIECE_CHARS_MAX)
        self._shown_chars = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        if not text or self._shown_chars >= PROGRESS_CHARS_MAX:
            return
        self._waiting.add(text)
        if self._timer is None:
            self._beat()

    def close(self) -> None:
        """Shows what still waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flush()

    def _beat(self) -> None:
        self._timer = None
        if self._flush():
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._interval_s, self._beat)

    def _flush(self) -> bool:
        if not self._waiting or self._shown_chars >= PROGRESS_CHARS_MAX:
            return False
        piece = str(self._waiting)
        self._waiting = Excerpt(PROGRESS_PIECE_CHARS_MAX)
        self._shown_chars += len(piece)
        if self._shown_chars >= PROGRESS_CHARS_MAX:
            piece += "\n[… more output is in the result …]\n"
        self._show(piece)
        return True


TIMEOUT_SCHEMA: Json = {
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": limits.COMMAND_TIMEOUT_S_LIMIT,
    "description": f"How long it may take; {limits.COMMAND_TIMEOUT_S:g} unless set otherwise.",
}


def timeout_of(arguments: Json, run: ToolRun) -> float:
    """How long a command may take. Raises ToolError for more than the agent's settings allow."""
    most = max(run.command_timeout_s, run.command_timeout_s_max)
    wanted = float(arguments.get("timeout_seconds", run.command_timeout_s))
    if wanted > most:
        raise ToolError(
            f"timeout_seconds is at most {most:g} here; what takes longer can run in the "
            "background (bash with background: true)"
        )
    return wanted


async def run_shown(
    argv: list[str], env: Mapping[str, str], timeout_s: float, run: ToolRun
) -> ToolResult:
    """Runs a program in the workspace, shows its output while it runs, and says how it ended.
    An exit code is part of what it says; a program that had to be ended has failed."""
    output = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
    progress = OutputProgress(run.progress)

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
    return command_result(str(output), output.cut_chars, finished, timeout_s)


def command_result(output: str, cut_chars: int, finished: Finished, timeout_s: float) -> ToolResult:
    """As the model and the readers get it."""
    how = ending(finished, timeout_s)
    text = output.rstrip("\n")
    if how:
        text = f"{text}\n[{how}]" if text else f"[{how}]"
    return ToolResult(
        content=text or "(no output)",
        is_error=finished.timed_out or finished.flooded or bool(finished.ended_for),
        details={
            "exit_code": finished.exit_code,
            "timed_out": finished.timed_out,
            "output_cut_chars": cut_chars,
        },
    )


class Bash(Tool):
    name = "bash"
    description = (
        "Runs a command with bash in the workspace and returns what it prints, errors included. "
        "There is no input to read from. Everything the command started ends with it. What should "
        "go on, such as a server or a long build, is started with `background: true`, without &: "
        "the answer is its id, at once, for bash_output and bash_stop."
    )
    parameters = object_schema(
        {
            "command": {"type": "string", "minLength": 1, "maxLength": COMMAND_CHARS_MAX},
            "timeout_seconds": TIMEOUT_SCHEMA,
            "background": {"type": "boolean"},
        },
        required=["command"],
    )

    def __init__(
        self, env: Mapping[str, str], paths: Paths, background: Background | None = None
    ) -> None:
        self._env = env
        self._paths = paths
        self._background = background or Background()

    def is_dangerous(self, arguments: Json) -> bool:
        return not only_reads(str(arguments.get("command", "")), self.place())

    def place(self) -> Place:
        folder = self._paths.workspace
        is_repository = (folder / ".git").exists()
        return Place(self._paths.may_read, is_repository, str(folder))

    def touches(self, arguments: Json) -> Touches:
        if self.is_dangerous(arguments):
            return Touches(everything=True)
        return Touches(reads=self._paths.touched("."))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        command = arguments["command"]
        if "\0" in command:
            raise ToolError("the command has a NUL character, which no command can have")
        argv = ["bash", "--noprofile", "--norc", "-c", command]
        if arguments.get("background", False):
            return await self._started(command, argv, run)
        return await run_shown(argv, self._env, timeout_of(arguments, run), run)

    async def _started(self, command: str, argv: list[str], run: ToolRun) -> ToolResult:
        progress = OutputProgress(run.progress)
        try:
            started = await self._background.start(
                command, argv, self._env, run.workspace, progress.add
            )
        except OSError as error:
            raise ToolError(f"{argv[0]} cannot be started: {error.strerror or error}") from error
        return ToolResult(
            content=f"Started in the background. Its id is {started.id}.",
            details={"id": started.id, "running": True},
        )
