"""A table that fits its terminal: what is least important goes first, and no word is broken."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from trunkline.cli.human import cut, padded

_GAP = 2
_TEXT_MIN = 16
"""What is no longer is shown whole; what is cut to less says nothing. Then a column goes."""


@dataclass(frozen=True)
class Column:
    """`is_whole`: ids, numbers and times are shown as they are, or not at all."""

    title: str
    cells: Sequence[str]
    is_whole: bool = False
    is_right: bool = False

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.title, *self.cells)))

    @property
    def least(self) -> int:
        if self.is_whole:
            return self.width
        return min(self.width, max(_TEXT_MIN, cell_len(self.title)))


def fitted(columns: Sequence[Column], width: int | None) -> list[str]:
    """The header and a line for each row. `columns`: the most important first; None shows all."""
    kept, widths = _layout(columns, width)
    shown = [_padded(column, room) for column, room in zip(kept, widths, strict=True)]
    return [(" " * _GAP).join(row).rstrip() for row in zip(*shown, strict=True)]


def _padded(column: Column, room: int) -> list[str]:
    texts = [cut(text, room) for text in (column.title, *column.cells)]
    width = max(map(cell_len, texts))  # cut at a word, it may need less
    return [padded(text, width, is_right=column.is_right) for text in texts]


def _layout(columns: Sequence[Column], width: int | None) -> tuple[Sequence[Column], list[int]]:
    if width is None:
        return columns, [column.width for column in columns]
    for number in range(len(columns), 0, -1):
        kept = columns[:number]
        room = width - _GAP * (number - 1)
        if sum(column.least for column in kept) <= room or number == 1:
            return kept, _shared(kept, room)
    return columns, []


def _shared(columns: Sequence[Column], room: int) -> list[int]:
    """What is too much is taken from the widest that can give."""
    widths = [column.width for column in columns]
    least = [column.least for column in columns]
    while sum(widths) > room:
        can = [at for at, one in enumerate(widths) if one > least[at]]
        if not can:
            return [min(one, room) for one in widths]  # one column alone, in next to no room
        widths[max(can, key=widths.__getitem__)] -= 1
    return widths
