"""The scrollback: what was put there stays. An empty line parts what is of different kinds."""

from collections.abc import Callable

from trunkline.cli.chat.render.layout import Line, paint

_TOGETHER = frozenset(("call", "note"))
"""Of which one follows the other without an empty line."""
_COLUMNS_MIN = 20


class Scroll:
    def __init__(self, width: Callable[[], int], *, colours: bool) -> None:
        self._width = width
        self._colours = colours
        self._lines: list[Line] = []
        self._last = ""
        """The kind of what was put last."""

    @property
    def columns(self) -> int:
        return max(self._width(), _COLUMNS_MIN)

    def put(self, kind: str, lines: list[Line]) -> None:
        if lines:
            self._lines += [*self._gap(kind), *lines]
            self._last = kind

    def take(self) -> str:
        """What was put since the last time."""
        lines, self._lines = self._lines, []
        return paint(lines, colours=self._colours)

    def below(self, kind: str, lines: list[Line]) -> str:
        """What stands below it and does not stay; tabs are for what is copied."""
        shown = [*self._gap(kind), *lines] if lines else []
        return paint(shown, colours=self._colours).replace("\t", "    ")

    def _gap(self, kind: str) -> list[Line]:
        is_together = kind in _TOGETHER and self._last in _TOGETHER
        return [] if is_together or not self._last else [[]]
