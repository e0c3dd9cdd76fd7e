"""Output of a tool that still runs, shown in few pieces: the first at once, then a steady beat."""

import asyncio
from collections.abc import Callable

from trunkline import limits
from trunkline.execution.tools.excerpt import Excerpt


class Progress:
    """Gathers text between two beats. Shows a bounded amount, then says that there is more."""

    def __init__(
        self, show: Callable[[str], None], interval_s: float = limits.PROGRESS_INTERVAL_S
    ) -> None:
        self._show = show
        self._interval_s = interval_s
        self._waiting = Excerpt(limits.PROGRESS_PIECE_CHARS_MAX)
        self._shown_chars = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        if not text or self._shown_chars >= limits.PROGRESS_CHARS_MAX:
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
        if not self._waiting or self._shown_chars >= limits.PROGRESS_CHARS_MAX:
            return False
        piece = str(self._waiting)
        self._waiting = Excerpt(limits.PROGRESS_PIECE_CHARS_MAX)
        self._shown_chars += len(piece)
        if self._shown_chars >= limits.PROGRESS_CHARS_MAX:
            piece += "\n[… more output is in the result …]\n"
        self._show(piece)
        return True
