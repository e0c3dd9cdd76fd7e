"""What was shown in one line and can be shown whole."""

from collections import deque
from typing import Protocol

from trunkline.cli.chat.render.layout import Line, clip, safe_lines, wrap
from trunkline.cli.chat.render.markdown import Markdown

_KEPT_MAX = 50


class Folded(Protocol):
    def unfolded(self, width: int) -> list[Line]: ...


class Folds:
    """The newest ones; each is asked for once, from the last one back."""

    def __init__(self) -> None:
        self._kept: deque[Folded] = deque(maxlen=_KEPT_MAX)
        self._left: list[Folded] = []

    def add(self, folded: Folded) -> None:
        self._kept.append(folded)
        self._left = list(self._kept)

    def before(self) -> Folded | None:
        if not self._left:
            self._left = list(self._kept)
        return self._left.pop() if self._left else None


class Words:
    """What was thought, or said by a sub-agent. `markdown`: None for what is none."""

    def __init__(self, title: Line, said: str, markdown: Markdown | None) -> None:
        self._title, self._said, self._markdown = title, said, markdown

    def unfolded(self, width: int) -> list[Line]:
        if self._markdown is not None:
            lines = self._markdown.lines(self._said, width)
        else:
            lines = wrap([(safe_lines(self._said.strip()), "dim")], width)
        return [clip([("▾ ", "dim"), *self._title], width), *lines]
