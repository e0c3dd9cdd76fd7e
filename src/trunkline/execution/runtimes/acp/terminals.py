"""Commands that an ACP agent runs through us: `terminal/*`, each in the workspace, within bounds.

What a terminal has started ends with it, when it is released, and at the latest with the agent.
"""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import Finished, run_process
from trunkline.execution.runtimes.acp.content import items, obj
from trunkline.execution.runtimes.acp.files import Files

TERMINALS_MAX = 20
OUTPUT_BYTES = 1 * limits.MIB  # kept of one terminal, unless the agent wants less
TIMEOUT_S = 24 * 3600.0  # the turn's own limit comes first
ENV_MAX = 100

Show = Callable[[str, str], None]
"""A terminal's id, and what it printed."""


class Terminal:
    """One command: what it printed last, and how it ended."""

    def __init__(self, output_bytes_max: int) -> None:
        self._output_bytes_max = output_bytes_max
        self._output = b""
        self.truncated = False
        self.running: asyncio.Task[Finished]

    def add(self, piece: str) -> None:
        output = self._output + piece.encode("utf-8", "replace")
        if len(output) > self._output_bytes_max:
            self.truncated = True
            output = output[len(output) - self._output_bytes_max :]
        self._output = output

    @property
    def output(self) -> str:
        """Cut at the start, at a whole character; why it could not be run, where it could not."""
        is_over = self.running.done() and not self.running.cancelled()
        if is_over and (error := self.running.exception()) is not None:
            return str(error)
        return self._output.decode("utf-8", "ignore")

    def status(self) -> Json | None:
        """How it ended; None while it runs."""
        if not self.running.done():
            return None
        if self.running.cancelled():
            return {"exitCode": None, "signal": "SIGKILL"}
        if self.running.exception() is not None:
            return {"exitCode": 127, "signal": None}
        code = self.running.result().exit_code
        return {"exitCode": code if code >= 0 else None, "signal": str(-code) if code < 0 else None}


class Terminals:
    """Those of one agent. Each method answers the request of its name; raises ToolError.

    `env`: without keys, which are the agent's and not for what it runs; what it names itself is."""

    def __init__(self, files: Files, env: Mapping[str, str], show: Show) -> None:
        self._files = files
        self._env = env
        self._show = show
        self._terminals: dict[str, Terminal] = {}
        self._earlier: frozenset[str] = frozenset()
        self._numbers = itertools.count(1)

    async def create(self, params: Json) -> Json:
        if len(self._terminals) >= TERMINALS_MAX:
            raise ToolError(f"there are {TERMINALS_MAX} terminals; release one first")
        argv = _argv(params)
        cwd = self._files.path(params.get("cwd") or ".")
        if not cwd.is_dir():
            raise ToolError("`cwd` is no folder")
        bound = params.get("outputByteLimit")
        if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
            bound = OUTPUT_BYTES
        terminal = Terminal(min(bound, OUTPUT_BYTES))
        terminal_id = f"term-{next(self._numbers)}"

        def take(piece: str) -> None:
            terminal.add(piece)
            self._show(terminal_id, piece)

        env = {**self._env, **_env(params.get("env"))}
        running = run_process(argv, cwd=cwd, env=env, timeout_s=TIMEOUT_S, take=take)
        terminal.running = asyncio.create_task(running, name=terminal_id)
        self._terminals[terminal_id] = terminal
        return {"terminalId": terminal_id}

    async def output(self, params: Json) -> Json:
        terminal = self._find(params)
        status = terminal.status()
        told: Json = {"output": terminal.output, "truncated": terminal.truncated}
        return told if status is None else {**told, "exitStatus": status}

    async def wait_for_exit(self, params: Json) -> Json:
        terminal = self._find(params)
        await asyncio.wait({terminal.running})
        return terminal.status() or {}

    async def kill(self, params: Json) -> Json:
        """The command ends; its output can still be read."""
        terminal = self._find(params)
        terminal.running.cancel()
        await asyncio.wait({terminal.running})
        return {}

    async def release(self, params: Json) -> Json:
        await self.kill(params)
        self._terminals.pop(str(params["terminalId"]), None)
        return {}

    def begin(self) -> None:
        """A turn begins; what runs already was started in an earlier one."""
        self._earlier = frozenset(self._terminals)

    def kill_all(self, *, of_turn: bool = False) -> None:
        """`of_turn`: only those that were started in this one."""
        for name, one in self._terminals.items():
            if not of_turn or name not in self._earlier:
                one.running.cancel()

    async def close(self) -> None:
        """Everything that runs ends."""
        self.kill_all()
        running = {one.running for one in self._terminals.values()}
        self._terminals.clear()
        if running:
            await asyncio.wait(running)

    def _find(self, params: Json) -> Terminal:
        terminal = self._terminals.get(str(params.get("terminalId"))[: limits.ID_CHARS_MAX])
        if terminal is None:
            raise ToolError("there is no such terminal")
        return terminal


def _argv(params: Json) -> list[str]:
    """The program and its arguments; a command line without arguments is a shell's."""
    command, args = params.get("command"), items(params.get("args"))
    if not isinstance(command, str) or not command.strip():
        raise ToolError("`command` is no command")
    if len(args) > limits.MCP_ARGS_MAX or not all(isinstance(one, str) for one in args):
        raise ToolError(f"`args` are no {limits.MCP_ARGS_MAX} texts")
    words = [command, *args]
    if "\0" in "".join(words) or sum(map(len, words)) > limits.TEXT_CHARS_MAX // 2:
        raise ToolError("the command is too long, or has a NUL character")
    if not args and any(mark in command for mark in " ;|&<>$`\n"):
        return ["bash", "--noprofile", "--norc", "-c", command]
    return words


def _env(given: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in items(given)[:ENV_MAX]:
        name, value = obj(one).get("name"), obj(one).get("value")
        if not isinstance(name, str) or not isinstance(value, str):
            raise ToolError("`env` has something that is no name and value")
        if not name or "=" in name or "\0" in name + value:
            raise ToolError("`env` has a name or a value that no program can have")
        found[name] = value
    return found
