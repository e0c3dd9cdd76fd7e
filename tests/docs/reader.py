"""Who reads a page and does what its blocks say: docs/contributing/manual.md."""

import asyncio
import re
from contextlib import ExitStack, closing
from pathlib import Path

from tests.docs.blocks import Block, Command, commands
from tests.docs.matching import is_like
from tests.docs.server import Server
from tests.docs.shell import Done, Shell
from tests.docs.terminals import Running, in_terminal
from tests.support.runtimes.installed import why_missing

_LINE_TO_PASTE = re.compile(r"^    (\S.*)$", re.MULTILINE)


class Reader:
    """`folder` is for what no page sees; what is left running ends with `leaving`."""

    def __init__(self, server: Server, shell: Shell, folder: Path, leaving: ExitStack) -> None:
        self._server = server
        self._shell = shell
        self._folder = folder
        self._leaving = leaving
        self._number = 0

    def does(self, block: Block) -> None:
        if (program := block.options.get("needs")) and why_missing(program):
            return
        if "file" in block.options:
            self._shell.save(block.options["file"], self._server.ours(block.text))
        elif "until" in block.options:
            self._runs_until(block)
        elif block.language == "console":
            self._types(block)
        else:
            self._pastes(block)

    def _pastes(self, block: Block) -> None:
        text = self._server.ours(block.text)
        is_program = block.language in ("python", "javascript")
        done = self._shell.run(text if is_program else f"set -e\n{text}", block.language)
        wanted = int(block.options.get("exit", "0"))
        assert done.code == wanted, f"{block.where} ended with {done.code}:\n{done.printed}"
        assert block.options.get("prints", "") in done.printed, f"{block.where}:\n{done.printed}"

    def _types(self, block: Block) -> None:
        every = commands(block)
        wanted = [0] * (len(every) - 1) + [int(block.options.get("exit", "0"))]
        for command, code in zip(every, wanted, strict=True):
            done = self._done(block, self._server.ours(command.text), command)
            printed = self._server.theirs(done.printed)
            what = f"{block.where}\n$ {command.text}\n{printed}"
            assert done.code == code, f"({done.code}) {what}"
            if command.printed is not None and "typed" not in block.options:
                assert is_like(printed, command.printed), (
                    f"{what}\nbut the page says:\n{command.printed}"
                )

    def _done(self, block: Block, text: str, command: Command) -> Done:
        if "typed" in block.options:
            page, here, env = command.printed or "", self._shell.here, self._shell.env
            return asyncio.run(in_terminal(text, page, here, env))
        if "elsewhere" in block.options:
            return self._pastes_elsewhere(text)
        return self._shell.run(text, stdin=block.options.get("stdin", ""))

    def _pastes_elsewhere(self, text: str) -> Done:
        """While it waits, the line that it printed is run on another computer and stays."""
        waiting = self._runs(text)
        line = waiting.until(_LINE_TO_PASTE.search)[1]
        home = self._folder / "elsewhere"
        home.mkdir()
        self._leaving.enter_context(
            closing(Running(line, home, {**self._server.env, "HOME": str(home)}, home / "log"))
        )
        return Done(waiting.ended(), waiting.printed)

    def _runs_until(self, block: Block) -> None:
        """In a terminal of its own, and beside the server that is there."""
        shown = [one.text for one in commands(block)] if block.language == "console" else None
        text = "\n".join(shown) if shown else block.text
        own = {"TRUNKLINE_PORT": "0", "TRUNKLINE_DATA": str(self._folder / "own")}
        running = self._runs(self._server.ours(text), TRUNKLINE_OPEN_BROWSER="false", **own)
        running.until(lambda said: block.options["until"] in said or None)
        code = running.interrupt()
        assert code == 0, f"{block.where} ended with {code}:\n{running.printed}"

    def _runs(self, text: str, **more: str) -> Running:
        self._number += 1
        log = self._folder / f"running-{self._number}.log"
        running = Running(text, self._shell.here, {**self._shell.env, **more}, log)
        return self._leaving.enter_context(closing(running))
