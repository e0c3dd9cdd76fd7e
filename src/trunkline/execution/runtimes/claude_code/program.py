"""A conversation with Claude Code: started with the first turn, gone on with by its own session id
when the process, the daemon or the program has ended in between.

What it says is `talk`, what it asks is `asking`, how it is started is `command`.
"""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import structlog

from trunkline import limits
from trunkline.execution.errors import TurnError
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.runtimes.catalog import install_command
from trunkline.execution.runtimes.claude_code import command, prompt, servers, skills
from trunkline.execution.runtimes.claude_code.asking import HOOK, Asking
from trunkline.execution.runtimes.claude_code.command import Launch
from trunkline.execution.runtimes.claude_code.connection import Connection
from trunkline.execution.runtimes.claude_code.failures import failure
from trunkline.execution.runtimes.claude_code.output import Line, text_of
from trunkline.execution.runtimes.claude_code.permissions import Granted
from trunkline.execution.runtimes.claude_code.spending import Spending
from trunkline.execution.runtimes.claude_code.talk import Talk
from trunkline.execution.runtimes.claude_code.translator import commands_of
from trunkline.execution.runtimes.errors import ClaudeGone, ClaudeRefused
from trunkline.execution.runtimes.hosted.program import Opening, Program
from trunkline.execution.runtimes.hosted.turn import Turn
from trunkline.execution.skills.registry import SkillRegistry
from trunkline.execution.texts import shortened
from trunkline.execution.tools.base import ToolRun

_log = structlog.get_logger(__name__)

START_S = 60.0  # until it answers: servers of its user's may take long
_INTERRUPT_S = limits.CANCEL_GRACE_S - 2.0  # less than a session has to stop
_RULES_BYTES_MAX = 60_000  # of what was granted, as an argument
_EARLY_MAX = 1_000
_SESSION_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
_UNKNOWN = "No conversation found"
_NAME = "claude-code"


class Saved(msgspec.Struct, kw_only=True):
    """What a later process needs to go on."""

    session_id: str = ""
    """The program's own name of the conversation: `claude --resume` takes it."""
    workspace: str = ""
    total_usd: float = 0.0
    granted: Granted = msgspec.field(default_factory=Granted)


class ClaudeCode(Program):
    """`locate` finds the program; empty when it is not there."""

    def __init__(self, opening: Opening, locate: Callable[[], tuple[str, ...]]) -> None:
        self._opening = opening
        self._locate = locate
        self._saved = _saved(opening.state.get())
        start, control = opening.start, opening.control
        self._skills = SkillRegistry(
            start.skill_index,
            Home(Path(start.home)),
            control,
            opening.env,
            secrets=start.api_keys.values(),
        )
        found = servers.sources_of(start, control, opening.env, opening.workspace, opening.problems)
        run = ToolRun(
            session_id=start.session_id,
            workspace=opening.workspace,
            progress=lambda _: None,
            event=lambda _: None,
            ask_agent=_nobody,
        )
        self._servers = servers.Servers([servers.Memory(control, run), *found])
        self._talk = Talk(
            start.session_id, opening.emit, control, Spending(self._saved.total_usd), self._save
        )
        self._is_cancelled = False
        confirm = opening.settings.confirm
        self._asking = Asking(
            self._servers, self._saved.granted, self._open_turn, self._save, confirm
        )
        self._mode = command.mode_of(start.agent_config | start.session_config)
        self._connection: Connection | None = None
        self._launched: Launch | None = None
        self._model = ""
        self._mode_set = ""
        self._plugin: str | None = None
        self._commands: list[Json] = []
        self._early: list[tuple[Line, bytes]] | None = None
        """What a program says before it has begun: nothing, or why it cannot."""

    def configure(self, settings: Settings, patch: Json) -> None:
        self._mode = command.mode_of(patch) or self._mode
        self._asking.confirm = settings.confirm

    def abort(self) -> None:
        self._launched = None
        if self._connection is not None:
            self._connection.kill()

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
        await self._servers.close()

    async def run(self, turn: Turn) -> str:
        connection, is_new = await self._connected(turn)
        history = turn.history if is_new else []
        said = prompt.content_of(self._opening.workspace, turn.message, turn.attachments, history)
        over = self._talk.begin(turn)
        self._is_cancelled = False
        try:
            connection.send(prompt.user_line(said))
            await _first(over, connection.ended)
            if not over.done():
                raise _crashed(connection.ended.result())
            return self._answer(over.result())
        except asyncio.CancelledError:
            self._is_cancelled = True
            await self._interrupt(connection, over)
            raise
        finally:
            self._talk.end()
            self._save()

    def _open_turn(self) -> Turn | None:
        """In which something may be done: none once it is cancelled, while its end still comes."""
        return None if self._is_cancelled else self._talk.turn

    def _answer(self, result: Line) -> str:
        error = failure(result, self._talk.translator.error)
        if error is None:
            return text_of(result.result)
        if error.code == "RUNTIME_LOGIN":
            self.abort()  # a new login is found by a new process
        raise error

    async def _interrupt(self, connection: Connection, over: "asyncio.Future[Line]") -> None:
        """The conversation goes on after it; a program that does not listen is killed."""
        try:
            async with asyncio.timeout(_INTERRUPT_S):
                if not self._talk.is_heard:
                    raise TimeoutError  # the message may not be read yet, and would be later
                await connection.ask(subtype="interrupt")
                await _first(over, connection.ended)
        except (TimeoutError, ClaudeRefused, ClaudeGone):
            connection.kill()
            await connection.ended

    async def _connected(self, turn: Turn) -> tuple[Connection, bool]:
        """A program that listens, and whether it knows nothing of what was said before."""
        if self._plugin is None:
            self._plugin, problems = await skills.plugin(self._skills, self._opening.folder)
            for problem in problems:
                turn.emit("thinking", stage="model", content=problem)
        program = self._locate()
        if not program:
            fix = install_command(_NAME, Path(self._opening.start.home))
            why = f"Claude Code is not installed on this machine. Install it there with: {fix}"
            raise TurnError("RUNTIME_UNAVAILABLE", why)
        launch = command.launch(
            program,
            self._opening.start,
            turn.settings,
            self._opening.env,
            servers=self._servers.names,
            plugin=self._plugin,
        )
        running = self._connection
        is_same = running is not None and running.is_alive and launch == self._launched
        if running is not None and is_same and await self._adjusted(running, turn.settings):
            return running, False
        if running is not None:
            await running.close()
        return await self._started(launch, turn.settings)

    async def _adjusted(self, connection: Connection, settings: Settings) -> bool:
        """Model and permission mode as they are wanted now; False if only a new start can do it."""
        model, mode = command.model_of(settings), self._mode
        try:
            async with asyncio.timeout(START_S):
                if model != self._model:
                    await connection.ask(subtype="set_model", model=model or "default")
                    self._model = model
                if mode != self._mode_set:
                    await connection.ask(subtype="set_permission_mode", mode=mode or "default")
                    self._mode_set = mode
        except (TimeoutError, ClaudeRefused, ClaudeGone) as error:
            _log.info("the program is started again for new settings", reason=str(error))
            return False
        return True

    async def _started(self, launch: Launch, settings: Settings) -> tuple[Connection, bool]:
        # It comes from outside, and becomes an argument.
        resumed = self._saved.session_id if _SESSION_ID.fullmatch(self._saved.session_id) else ""
        try:
            return await self._open(launch, settings, resumed), not resumed
        except ClaudeGone as gone:
            if not resumed or _UNKNOWN not in gone.said:
                raise _crashed(gone) from gone
        _log.info("a conversation is not on this machine and begins anew", id=resumed)
        self._saved.session_id = ""
        try:
            return await self._open(launch, settings, ""), True
        except ClaudeGone as gone:
            raise _crashed(gone) from gone

    async def _open(self, launch: Launch, settings: Settings, resumed: str) -> Connection:
        """Raises ClaudeGone, and TurnError where there is nothing to start."""
        model, mode = command.model_of(settings), self._mode
        argv = [*launch.argv, "--permission-mode", mode or self._granted_mode()]
        argv += [f"--model={model}"] if model else []
        argv += ["--settings", self._granted_rules()] if self._saved.granted.rules else []
        argv += [f"--resume={resumed}"] if resumed else []
        try:
            connection = await Connection.open(
                argv,
                cwd=self._opening.workspace,
                env=launch.env,
                key=launch.key,
                take=self._take,
                answer=self._asking.answer,
            )
        except OSError as error:
            raise TurnError(
                "RUNTIME_UNAVAILABLE", f"Claude Code cannot be started: {error}"
            ) from error
        self._connection, self._launched = connection, launch
        self._model, self._mode_set = model, mode
        self._early = []
        try:
            async with asyncio.timeout(START_S):
                hooks = {"PreToolUse": [{"matcher": None, "hookCallbackIds": [HOOK]}]}
                begun = await connection.ask(
                    subtype="initialize", hooks=hooks, systemPromptSnapshot=False
                )
        except (TimeoutError, ClaudeRefused) as error:
            connection.kill()
            why = f"Claude Code did not begin: {str(error) or 'no answer in time'}"
            raise TurnError("RUNTIME_FAILED", why) from error
        except asyncio.CancelledError:
            connection.kill()
            raise
        self._tell_commands(begun.get("commands"))
        early, self._early = self._early, None
        for line, text in early:
            self._talk.take(line, text)
        return connection

    def _tell_commands(self, given: Any) -> None:
        """What can be said to it behind a slash, where that has changed."""
        commands = commands_of(given)
        if commands and commands != self._commands:
            self._commands = commands
            self._opening.emit("session_status", machine="online", commands=commands)

    async def _take(self, line: Line, text: bytes) -> None:
        if self._early is None:
            self._talk.take(line, text)
            await self._opening.flush()
        elif len(self._early) < _EARLY_MAX:
            self._early.append((line, text))

    def _granted_mode(self) -> str:
        return "acceptEdits" if self._saved.granted.edits else "default"

    def _granted_rules(self) -> str:
        rules: list[str] = []
        room = _RULES_BYTES_MAX
        for rule in reversed(self._saved.granted.rules):
            room -= len(msgspec.json.encode(rule)) + 1
            if room < 0:
                break
            rules.append(rule)
        return msgspec.json.encode({"permissions": {"allow": rules}}).decode()

    def _save(self) -> None:
        self._saved.session_id = self._talk.translator.session_id or self._saved.session_id
        self._saved.workspace = str(self._opening.workspace)
        self._saved.total_usd = self._talk.spending.total_usd
        with suppress(OSError):
            self._opening.state.put(msgspec.to_builtins(self._saved))


def _saved(state: Json) -> Saved:
    try:
        return msgspec.convert(state, Saved)
    except msgspec.ValidationError as error:
        _log.warning("a saved state is not understood", reason=str(error))
        return Saved()


def _crashed(gone: ClaudeGone) -> TurnError:
    said = f" It said last: {shortened(gone.said, 1_000)}" if gone.said else ""
    return TurnError("RUNTIME_CRASHED", f"Claude Code has ended ({gone.how}).{said}")


async def _first(one: "asyncio.Future[Any]", other: "asyncio.Future[Any]") -> None:
    await asyncio.wait({one, other}, return_when=asyncio.FIRST_COMPLETED)


async def _nobody(*_: str) -> str:
    raise TurnError("TURN_FAILED", "there is no other agent to ask")
