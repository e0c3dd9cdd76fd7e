"""The screen of a terminal as an SVG: text that can be searched, in a light and a dark theme."""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

import pyte
from pyte.screens import Char

_CELL_W, _CELL_H, _FONT_PX, _MARGIN, _BAR_H = 8.4, 19, 14, 16, 34
_FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_KNOWN = {2: (5,), 22: (22, 25)}
"""Faint as blinking, and neither bold nor faint."""


class Theme(NamedTuple):
    back: str
    text: str
    dim: str
    frame: str
    colours: dict[str, str]


THEMES = {
    "light": Theme(
        back="#ffffff",
        text="#1f2328",
        dim="#6e7781",
        frame="#d0d7de",
        colours={
            "black": "#24292f", "red": "#cf222e", "green": "#116329", "brown": "#7d4e00",
            "blue": "#0550ae", "magenta": "#8250df", "cyan": "#1b7c83", "white": "#6e7781",
            "brightblack": "#6e7781",
        },
    ),
    "dark": Theme(
        back="#0d1117",
        text="#e6edf3",
        dim="#8b949e",
        frame="#30363d",
        colours={
            "black": "#484f58", "red": "#ff7b72", "green": "#3fb950", "brown": "#d29922",
            "blue": "#58a6ff", "magenta": "#bc8cff", "cyan": "#39c5cf", "white": "#b1bac4",
            "brightblack": "#8b949e",
        },
    ),
}  # fmt: skip


class Screen(pyte.HistoryScreen):
    """Knows faint text, which pyte does not: it is kept as what blinks, which nothing here does."""

    def select_graphic_rendition(self, *attrs: int, **_: Any) -> None:
        if not {38, 48} & set(attrs):
            attrs = tuple(attr for one in attrs for attr in _KNOWN.get(one, (one,)))
        super().select_graphic_rendition(*attrs)


def svg(screen: pyte.Screen, title: str, theme: Theme) -> str:
    """What is on the screen, from the first to the last row with something in it."""
    rows = [[screen.buffer[y][x] for x in range(screen.columns)] for y in range(screen.lines)]
    while rows and _is_empty(rows[-1]):
        rows.pop()
    while rows and _is_empty(rows[0]):
        rows.pop(0)
    width = screen.columns * _CELL_W + 2 * _MARGIN
    height = len(rows) * _CELL_H + _BAR_H + 2 * _MARGIN
    drawn = "\n".join(line for y, row in enumerate(rows) for line in _row(row, y, theme))
    dots = "".join(
        f'<circle cx="{_MARGIN + 6 + 18 * at}" cy="{_BAR_H / 2 + 2}" r="5.5" fill="{theme.frame}"/>'
        for at in range(3)
    )
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    font = f'font-family="{escape(_FONTS)}" font-size="{_FONT_PX}"'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" {size} {font} role="img" aria-label="{escape(title)}">
<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="8" fill="{theme.back}" \
stroke="{theme.frame}"/>
{dots}
<text x="{width / 2:g}" y="{_BAR_H / 2 + 7:g}" text-anchor="middle" fill="{theme.dim}">\
{escape(title)}</text>
{drawn}
</svg>
"""


def _is_empty(row: list[Char]) -> bool:
    return all(not cell.data.strip() for cell in row)


def _row(row: list[Char], y: int, theme: Theme) -> Iterator[str]:
    baseline = _BAR_H + _MARGIN + y * _CELL_H + 14
    for style, run in groupby(enumerate(row), lambda one: one[1]._replace(data="")):
        cells = list(run)
        for x, text in _words((x, cell.data) for x, cell in cells):
            yield _text(x, baseline, text, style, theme)


def _words(cells: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """What stands together; two blanks part it. A wide character is alone: fonts differ on it."""
    start, text = 0, ""
    for x, data in [*cells, (-1, "\0")]:
        is_wide = len(data) > 0 and ord(data[0]) > 0x2E7F
        if text.strip() and (data == "\0" or is_wide or text.endswith("  ")):
            yield start + len(text) - len(text.lstrip()), text.strip()
            text = ""
        if is_wide:
            yield x, data
        elif data and data != "\0":
            start, text = (start, text) if text.strip() else (x, "")
            text += data


def _text(x: int, baseline: float, text: str, style: Char, theme: Theme) -> str:
    columns = 2 if ord(text[0]) > 0x2E7F else len(text)
    marks = "".join(
        mark
        for is_on, mark in (
            (style.bold, ' font-weight="bold"'),
            (style.italics, ' font-style="italic"'),
            (style.underscore, ' text-decoration="underline"'),
            (style.strikethrough, ' text-decoration="line-through"'),
        )
        if is_on
    )
    colour = theme.dim if style.blink else theme.colours.get(style.fg, theme.text)
    place = f'x="{_MARGIN + x * _CELL_W:g}" y="{baseline:g}" textLength="{columns * _CELL_W:g}"'
    return f'<text {place} fill="{colour}"{marks} xml:space="preserve">{escape(text)}</text>'
