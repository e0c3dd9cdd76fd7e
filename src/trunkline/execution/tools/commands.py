"""`bash`, and what it shares with `code_execution`: programs that are shown while they run.

Commands that only look, at files an agent may read anyway, need no question. Which those are is
deliberately narrow: what is not understood counts as dangerous.
"""

import asyncio
import re
import shlex
from collections.abc import Callable, Mapping

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import Finished, ending, run_process
from trunkline.execution.texts import Excerpt
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema
from trunkline.execution.tools.text_files import Paths

COMMAND_TIMEOUT_S_MAX = 600.0
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
    "maximum": COMMAND_TIMEOUT_S_MAX,
    "description": f"How long it may take; {limits.COMMAND_TIMEOUT_S:g} unless set.",
}


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
    return _result(output, finished, timeout_s)


def _result(output: Excerpt, finished: Finished, timeout_s: float) -> ToolResult:
    how = ending(finished, timeout_s)
    text = str(output).rstrip("\n")
    if how:
        text = f"{text}\n[{how}]" if text else f"[{how}]"
    return ToolResult(
        content=text or "(no output)",
        is_error=finished.timed_out or finished.flooded,
        details={
            "exit_code": finished.exit_code,
            "timed_out": finished.timed_out,
            "output_cut_chars": output.cut_chars,
        },
    )


# Chaining, redirection, substitution, expansion, escapes, further lines.
_SHELL_SYNTAX = re.compile(r"[;&|<>$`(){}\\\n\r\x00]")
# Text that the shell takes as it is; escapes and expansions are gone by then.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# A pattern may find a link that leads out, or before bash 5.2 the folder above.
_PATTERN = re.compile(r"[*?\[]")

_PROGRAMS = frozenset(
    {
        *("basename", "cat", "cmp", "cut", "dirname", "du", "df", "echo", "false", "find"),
        *("grep", "head", "id", "ls", "md5sum", "nl", "pwd", "readlink", "realpath", "sha256sum"),
        *("stat", "tail", "true", "uname", "wc", "which", "whoami"),
    }
)
# Options of `find` that start programs, write or remove files, or follow links.
_FIND_ACTIONS = re.compile(r"-(?:exec|ok|delete|f(?:print|ls)|files0|follow).*|-[HL]+")
# Options, short and long, that follow links or take names of files from a file. (`diff` is not
# among the programs: in folders it follows links without being asked to.)
_FAR_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "du": ("DHLX", ("dereference-args", "exclude-from", "files0-from")),
    "grep": ("Rf", ("dereference-recursive", "file")),
    "ls": ("HL", ("dereference-command-line-symlink-to-dir",)),
    "md5sum": ("c", ("check",)),
    "sha256sum": ("c", ("check",)),
    "stat": ("L", ("dereference",)),
    "wc": ("", ("files0-from",)),
}


def only_reads(command: str, may_read: Callable[[str], bool]) -> bool:
    """Whether a command is one simple program that changes nothing. `may_read` says whether a word,
    taken as a path, is one of the files that need no question."""
    if _SHELL_SYNTAX.search(command) or _PATTERN.search(_QUOTED.sub("", command)):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if not words or words[0] not in _PROGRAMS:
        return False
    program, *arguments = words
    return not any(_reaches_far(program, word) for word in arguments) and all(
        _is_harmless(word, may_read) for word in arguments
    )


def _reaches_far(program: str, word: str) -> bool:
    if program == "find":
        return _FIND_ACTIONS.fullmatch(word) is not None
    short, long = _FAR_OPTIONS.get(program, ("", ()))
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        # Long options may be shortened: `--deref`.
        return bool(name) and any(option.startswith(name) for option in long)
    return word.startswith("-") and any(letter in word for letter in short)


def _is_harmless(word: str, may_read: Callable[[str], bool]) -> bool:
    if word.startswith("~"):
        return False
    if word.startswith("-") and ("/" in word or ".." in word):  # `--file=/…`, `-f/…`
        return False
    return may_read(word)  # also of `-x`, which is a file after `--`


class Bash(Tool):
    name = "bash"
    description = (
        "Runs a command with bash in the workspace and returns what it prints, errors included. "
        "There is no input to read from. Everything the command started ends with it, also what "
        "runs in the background."
    )
    parameters = object_schema(
        {
            "command": {"type": "string", "minLength": 1, "maxLength": COMMAND_CHARS_MAX},
            "timeout_seconds": TIMEOUT_SCHEMA,
        },
        required=["command"],
    )

    def __init__(self, env: Mapping[str, str], paths: Paths) -> None:
        self._env = env
        self._paths = paths

    def is_dangerous(self, arguments: Json) -> bool:
        return not only_reads(str(arguments.get("command", "")), self._paths.may_read)

    def touches(self, arguments: Json) -> Touches:
        if self.is_dangerous(arguments):
            return Touches(everything=True)
        return Touches(reads=self._paths.touched("."))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        command = arguments["command"]
        if "\0" in command:
            raise ToolError("the command has a NUL character, which no command can have")
        argv = ["bash", "--noprofile", "--norc", "-c", command]
        timeout_s = float(arguments.get("timeout_seconds", limits.COMMAND_TIMEOUT_S))
        return await run_shown(argv, self._env, timeout_s, run)
