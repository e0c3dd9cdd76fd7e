"""Terminals beside the shell of a page: one with a program that runs until it is stopped, one in
which a person types, and one of another computer."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.docs.matching import is_like
from tests.docs.shell import Done
from tests.terminal.harness import ENTER, terminal

_WAIT_S = 90.0
_LOOK_S = 0.05
_TYPED = re.compile(r"(?P<prompt>(?:answer)?>) (?P<text>.+)")

T = TypeVar("T")


class Running:
    """A program with a log."""

    def __init__(self, text: str, here: Path, env: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self._bash = subprocess.Popen(
                ["bash", "-c", text],
                cwd=here,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def printed(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def until(self, good: Callable[[str], T | None]) -> T:
        """Waits until what it has printed is good."""
        end = time.monotonic() + _WAIT_S
        is_over = False
        while not is_over and time.monotonic() < end:
            is_over = self._bash.poll() is not None
            if (found := good(self.printed)) is not None:
                return found
            time.sleep(_LOOK_S)
        raise AssertionError(f"{'ended' if is_over else 'waits'}: {self.printed}")

    def ended(self) -> int:
        """Waits for its end; the exit code."""
        return self._bash.wait(_WAIT_S)

    def interrupt(self) -> int:
        """Ctrl-C, which reaches all of its programs; the exit code."""
        os.killpg(self._bash.pid, signal.SIGINT)
        return self.ended()

    def close(self) -> None:
        if self._bash.poll() is not None:
            return
        os.killpg(self._bash.pid, signal.SIGTERM)
        try:
            self._bash.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._bash.pid, signal.SIGKILL)
            self._bash.wait(_WAIT_S)


async def in_terminal(text: str, page: str, here: Path, env: Mapping[str, str]) -> Done:
    """A command in a real terminal. What a person types there stands behind `> ` and `answer> `:
    as soon as that prompt waits, and what the page shows above it is seen."""
    opening = terminal("-c", text, program="bash", env=dict(env), columns=100, rows=50, cwd=here)
    async with opening as screen:
        shown: list[str] = []
        for line in page.splitlines():
            if typed := _TYPED.fullmatch(line):
                await screen.until(_Asks(typed["prompt"], "\n".join(shown)))
                screen.type(typed["text"], ENTER)
                shown = []
            else:
                shown.append(line)
        code = await screen.ended()
        assert is_like(screen.text, _anywhere("\n".join(shown))), screen.text
        return Done(code, screen.text)


@dataclass(frozen=True)
class _Asks:
    """Whether a prompt waits below what the page shows."""

    prompt: str
    shown: str

    def __call__(self, text: str) -> bool:
        waits = re.search(rf"^{self.prompt}\s*$", text, re.MULTILINE)
        is_there = waits is not None and "connecting" not in text
        return is_there and is_like(text, _anywhere(self.shown))


def _anywhere(shown: str) -> str:
    return f"…{shown}…"
