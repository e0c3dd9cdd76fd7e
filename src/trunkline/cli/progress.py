"""What long work tells while it goes on, on stderr: one quiet line in a terminal, which goes when
it is done; elsewhere plain lines, and none of work that is done at once; nothing with `--json`.
"""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

from trunkline.log_form import one_line

_TICK_S = 0.25
_TERMINAL_AFTER_S = 0.4
"""What is done sooner would only flicker."""
_LINE_AFTER_S = 2.0
_LINE_EVERY_S = 10.0
_CLEAR = "\r\x1b[2K"

_is_silent: ContextVar[bool] = ContextVar("is_silent", default=False)


@contextmanager
def silent(is_on: bool) -> Iterator[None]:
    """Within it, nothing is told."""
    token = _is_silent.set(is_on)
    try:
        yield
    finally:
        _is_silent.reset(token)


class Progress:
    """`with Progress("packing ./skill") as progress: …`; `tell` and `at` say how far it is."""

    def __init__(
        self,
        what: str,
        out: TextIO | None = None,
        *,
        is_terminal: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = out or sys.stderr
        self._is_terminal = self._out.isatty() if is_terminal is None else is_terminal
        self._clock = clock
        self._what = what
        self._how_far = ""
        self._began = self._clock()
        self._told = self._began
        self._is_shown = False
        self._over = threading.Event()
        self._ticker: threading.Thread | None = None

    def __enter__(self) -> "Progress":
        if not _is_silent.get():
            self._ticker = threading.Thread(target=self._ticking, daemon=True)
            self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._ticker is not None:
            self._ticker.join()
        self.clear()

    def tell(self, what: str) -> None:
        """Another step of the work begins."""
        self._what, self._how_far = what, ""

    def at(self, done: int, total: int = 0) -> None:
        """So many bytes are done, of so many, where that is known."""
        from trunkline.cli.human import size

        of = f" of {size(total)}" if total else ""
        self._how_far = f"{size(done)}{of}"

    def _ticking(self) -> None:
        while not self._over.wait(_TICK_S):
            self.tick()

    def tick(self) -> None:
        """Tells what there is to tell by now."""
        now = self._clock()
        if self._is_terminal:
            if now - self._began >= _TERMINAL_AFTER_S:
                self._draw(now)
        elif now - self._told >= (_LINE_EVERY_S if self._is_shown else _LINE_AFTER_S):
            self._told, self._is_shown = now, True
            self._write(f"{self._line(now)}\n")

    def _line(self, now: float) -> str:
        passed = f"{now - self._began:.0f} s"
        return f"{one_line(self._what)} … " + " · ".join(filter(None, (self._how_far, passed)))

    def _draw(self, now: float) -> None:
        from trunkline.cli.human import cut

        width = shutil.get_terminal_size().columns
        self._is_shown = True
        self._write(_CLEAR + cut(self._line(now), max(width - 1, 1)))

    def clear(self) -> None:
        """Takes the line away, before something else is written."""
        if self._is_terminal and self._is_shown:
            self._is_shown = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
