"""Commands that go on while the agent does: `bash` starts them, `bash_output` and `bash_stop` look
after them.

They outlive the turn and end with the session's process, however that ends: they are its children,
and whoever inherits the children of a dead session kills them.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import Finished, ending, run_process
from trunkline.execution.texts import Excerpt, shortened
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema

RUNNING_MAX = 8  # of one session, at once
REMEMBERED_MAX = 50  # with those that have ended
OUTPUT_BYTES_MAX = 1024 * limits.MIB  # of one; then it is ended
OUTPUT_WAIT_S_MAX = 60.0


class BackgroundCommand:
    """One command, with what it printed since somebody asked."""

    def __init__(self, command: str) -> None:
        self.id = secrets.token_hex(4)
        self.command = command
        self.finished: Finished | None = None
        self.end_is_told = False
        """Whether the agent knows that it does not run any more."""
        self._unread = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(
        self, argv: list[str], env: Mapping[str, str], cwd: Path, show: Callable[[str], None]
    ) -> None:
        """Returns when it runs. Raises OSError when it cannot be started."""
        self._task = asyncio.create_task(self._run(argv, env, cwd, show))
        await asyncio.shield(self._started)

    async def stop(self) -> None:
        """Ends it with everything that it started."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})

    async def news(self, within_s: float) -> None:
        """Waits for output or its end."""
        try:
            async with asyncio.timeout(within_s):
                await self._news.wait()
        except TimeoutError:
            return

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def read(self) -> tuple[str, int]:
        """What it printed since the last time, and how many characters of that are left out."""
        text, cut_chars = str(self._unread).rstrip("\n"), self._unread.cut_chars
        self._unread = Excerpt(limits.TOOL_RESULT_CHARS_MAX)
        if self.is_running:
            self._news.clear()
        return text, cut_chars

    def state(self) -> str:
        if self.is_running:
            return "running"
        if self.finished is None:
            return "stopped"
        return ending(self.finished, 0) or "exit code 0"

    async def _run(
        self, argv: list[str], env: Mapping[str, str], cwd: Path, show: Callable[[str], None]
    ) -> None:
        def take(text: str) -> None:
            self._unread.add(text)
            self._news.set()
            show(text)

        def is_there() -> None:
            if not self._started.done():
                self._started.set_result(None)

        try:
            self.finished = await run_process(
                argv,
                cwd=cwd,
                env=env,
                timeout_s=None,
                take=take,
                output_bytes_max=OUTPUT_BYTES_MAX,
                is_there=is_there,
            )
        except OSError as error:
            if not self._started.done():
                self._started.set_exception(error)
        finally:
            is_there()
            self._news.set()


class Background:
    """The background commands of a session."""

    def __init__(self) -> None:
        self._commands: dict[str, BackgroundCommand] = {}

    async def start(
        self,
        command: str,
        argv: list[str],
        env: Mapping[str, str],
        cwd: Path,
        show: Callable[[str], None],
    ) -> BackgroundCommand:
        """Raises ToolError where too many run, OSError where it cannot be started."""
        running = [one for one in self._commands.values() if one.is_running]
        if len(running) >= RUNNING_MAX:
            raise ToolError(
                f"{RUNNING_MAX} commands run in the background, which is as many as may: "
                f"{', '.join(one.id for one in running)}. Stop one with bash_stop"
            )
        started = BackgroundCommand(command)
        self._commands[started.id] = started
        self._forget()
        try:
            await started.start(argv, env, cwd, show)
        except BaseException:
            await started.stop()
            del self._commands[started.id]
            raise
        return started

    @property
    def is_running(self) -> bool:
        return any(one.is_running for one in self._commands.values())

    def news(self) -> str:
        """For the agent: what has ended without its knowing; told once."""
        ended = [one for one in self._commands.values() if not (one.is_running or one.end_is_told)]
        for one in ended:
            one.end_is_told = True
        lines = [f"- {one.id}: {shortened(one.command)} [{one.state()}]" for one in ended]
        how = "Commands in the background that have ended; bash_output has what they printed:"
        return "\n".join([how, *lines]) if lines else ""

    def get(self, command_id: str) -> BackgroundCommand:
        found = self._commands.get(command_id)
        if found is None:
            known = ", ".join(self._commands) or "none"
            raise ToolError(
                f"there is no background command {shortened(command_id)!r} (there are: {known}); "
                "those that a session began before it was restarted have ended"
            )
        return found

    async def close(self) -> None:
        """Ends them all."""
        await asyncio.gather(*(one.stop() for one in self._commands.values()))

    def _forget(self) -> None:
        """The oldest of those that have ended."""
        ended = [one.id for one in self._commands.values() if one.finished is not None]
        for command_id in ended[: max(0, len(self._commands) - REMEMBERED_MAX)]:
            del self._commands[command_id]


_ID: Json = {"type": "string", "minLength": 1, "maxLength": 40}


class BashOutput(Tool):
    name = "bash_output"
    description = (
        "What a background command has printed since you last asked, and whether it still runs. "
        "With `wait_seconds` it waits until there is something new, or the command has ended."
    )
    parameters = object_schema(
        {
            "id": _ID,
            "wait_seconds": {"type": "number", "minimum": 0, "maximum": OUTPUT_WAIT_S_MAX},
        },
        required=["id"],
    )

    def __init__(self, background: Background) -> None:
        self._background = background

    def touches(self, arguments: Json) -> Touches:
        return Touches(writes=(f"command:{arguments['id']}",))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        command = self._background.get(arguments["id"])
        if wait_s := float(arguments.get("wait_seconds", 0)):
            await command.news(wait_s)
        return _told(command)


class BashStop(Tool):
    name = "bash_stop"
    description = "Ends a background command with everything that it started."
    parameters = object_schema({"id": _ID}, required=["id"])

    def __init__(self, background: Background) -> None:
        self._background = background

    def touches(self, arguments: Json) -> Touches:
        return Touches(writes=(f"command:{arguments['id']}",))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        command = self._background.get(arguments["id"])
        await command.stop()
        return _told(command)


def _told(command: BackgroundCommand) -> ToolResult:
    text, cut_chars = command.read()
    finished = command.finished
    command.end_is_told = not command.is_running
    details: Json = {
        "id": command.id,
        "running": command.is_running,
        "exit_code": finished.exit_code if finished else None,
        "output_cut_chars": cut_chars,
    }
    content = f"{text or '(nothing new)'}\n[{command.state()}]"
    return ToolResult(content=content, details=details)
