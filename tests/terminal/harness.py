"""`trunkline chat` in a real pseudo-terminal: pexpect types, pyte keeps what a person would see."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pexpect
import pyte
from pyte.screens import Char

from tests.support.eventually import WAIT_S
from tests.terminal.picture import Screen

PROGRAM = Path(sys.executable).parent / "trunkline"
ENTER, ALT_ENTER, TAB, UP = "\r", "\x1b\r", "\t", "\x1b[A"
CTRL_C, CTRL_D, CTRL_O = "\x03", "\x04", "\x0f"
_HISTORY_LINES = 5000


def pasted(text: str) -> str:
    """As a terminal sends what is pasted."""
    return f"\x1b[200~{text}\x1b[201~"


class Terminal:
    """A program in a terminal of that size. `lines`: the screen, and what has scrolled off it."""

    def __init__(
        self,
        program: str,
        arguments: list[str],
        env: dict[str, str],
        columns: int,
        rows: int,
        cwd: Path | None = None,
    ) -> None:
        self.screen = Screen(columns, rows, history=_HISTORY_LINES)
        self._stream = pyte.ByteStream(self.screen)
        self._news = asyncio.Event()
        self._is_over = False
        self._child = pexpect.spawn(
            *(program, arguments),
            env=env,
            dimensions=(rows, columns),
            timeout=WAIT_S,
            cwd=cwd,
        )
        self._child.delaybeforesend = None
        asyncio.get_running_loop().add_reader(self._child.child_fd, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._child.child_fd, 65536)
        except OSError:  # the program has closed its end
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._child.child_fd)
            self._is_over = True
        self._stream.feed(data)
        self._news.set()

    @property
    def lines(self) -> list[str]:
        above = [
            "".join(line[column].data for column in range(self.screen.columns))
            for line in self.screen.history.top
        ]
        return [line.rstrip() for line in (*above, *self.screen.display)]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")

    def is_faint(self, text: str) -> bool:
        """Whether all of that text on the screen is, or nothing of it."""
        [is_faint] = {cell.blink for cell in self._cells(text)}
        return is_faint

    def colour(self, text: str) -> str:
        [colour] = {cell.fg for cell in self._cells(text)}
        return colour

    def _cells(self, text: str) -> list[Char]:
        """Those of its letters, where it stands last."""
        row = max(at for at, line in enumerate(self.screen.display) if text in line)
        cells = [self.screen.buffer[row][column] for column in range(self.screen.columns)]
        shown = [cell for cell in cells if cell.data]  # a wide one has a second, empty cell
        start = "".join(cell.data for cell in shown).index(text)
        return [cell for cell in shown[start : start + len(text)] if cell.data != " "]

    def type(self, *keys: str) -> None:
        for one in keys:
            self._child.send(one)

    async def until(self, good: str | Callable[[str], object]) -> str:
        """Waits for a text, or for a text that is good; gives all that is shown."""
        wanted = (lambda text: good in text) if isinstance(good, str) else good
        try:
            async with asyncio.timeout(WAIT_S):
                while not wanted(self.text):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"not shown: {good!r}; the screen:\n{self.text}") from None
        return self.text

    async def prompt(self) -> None:
        """Waits until it is connected and asks for something."""
        await self.until(lambda text: "\n>" in f"\n{text}" and "connecting" not in text)

    async def ended(self) -> int:
        """Waits for its end and all that it has written; the exit code."""
        async with asyncio.timeout(WAIT_S):
            while self._child.isalive() or not self._is_over:
                await asyncio.sleep(0.01)
        return int(self._child.exitstatus if self._child.exitstatus is not None else -1)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._child.child_fd)
        self._child.close(force=True)


@asynccontextmanager
async def terminal(
    *arguments: str,
    env: dict[str, str],
    columns: int = 80,
    rows: int = 30,
    program: str = str(PROGRAM),
    cwd: Path | None = None,
) -> AsyncIterator[Terminal]:
    """The rest of the environment is this one's, without what would lead elsewhere."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    opened = Terminal(
        program, list(arguments), {**kept, "TERM": "xterm-256color", **env}, columns, rows, cwd
    )
    try:
        yield opened
    finally:
        opened.close()
