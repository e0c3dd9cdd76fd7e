"""Text in columns: what a line is, where it breaks, and how it is painted.

Lines break between words; where there are none, between the characters of Chinese and its
neighbours; never inside what is drawn as one. An address stays whole, so that it can be copied.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from rich.cells import cell_len, split_graphemes

from trunkline.log_form import one_line

Span = tuple[str, str]
"""A text and its style: words of `_CODES`, between blanks."""
Line = list[Span]
Chunk = tuple[int, int, int]
"""From where to where in the text, and how many columns without the blanks at its end."""

_CODES = {
    **{"bold": 1, "dim": 2, "italic": 3, "underline": 4, "strike": 9},
    **{"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36},
}
_WORDS = re.compile(r" *[^ ]+ *| +")
_NOT_FIRST = frozenset("、。，．：；！？）」』】》〉”’…·～,.!?:;)]}%")
_NOT_LAST = frozenset("（「『【《〈“‘([{")
_ADDRESS = "://"


def wants_colours(environ: Mapping[str, str]) -> bool:
    """Of a terminal, what its user and its kind say."""
    return not environ.get("NO_COLOR") and environ.get("TERM", "dumb") != "dumb"


def safe(text: str) -> str:
    """Nothing in it acts on the terminal; tabs are blanks."""
    return one_line(text.replace("\t", "    "))


def safe_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(safe, text.split("\n")))


def safe_code(text: str) -> str:
    """The same for a line of code, whose tabs are to be copied."""
    return "\t".join(map(one_line, text.split("\t")))


def cells(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)


def wrap(spans: Iterable[Span], width: int) -> list[Line]:
    """At least one line; a newline in the text ends one."""
    lines: list[Line] = []
    for paragraph in _paragraphs(spans):
        text = "".join(part for part, _ in paragraph)
        lines += [_cut(paragraph, *place) for place in _places(text, max(width, 2))]
    return lines


def clip(line: Line, width: int) -> Line:
    """Its beginning, with a mark where something is left out."""
    if cells(line) <= width:
        return line
    shown: Line = []
    left = max(width - 1, 0)
    for text, style in line:
        fitting = _head(text, left)
        shown.append((fitting, style))
        left -= cell_len(fitting)
        if fitting != text:
            break
    return [*shown, ("…", "dim")]


def indented(lines: Iterable[Line], first: Span, rest: Span | None = None) -> list[Line]:
    """`first` stands before the first line, `rest` before the others; by default blanks."""
    other = rest if rest is not None else (" " * cell_len(first[0]), "")
    return [
        [first if not index else other, *line] if line or index == 0 or other[0].strip() else line
        for index, line in enumerate(lines)
    ]


def more(count: int, where: str = "") -> Line:
    """In the place of lines that are left out."""
    return [(f"… {count} more line{'s' if count > 1 else ''}{where}", "dim")]


def paint(lines: Iterable[Line], *, colours: bool) -> str:
    """Whole lines for the terminal, no blanks at their ends."""
    return "".join(f"{_painted(line, colours)}\n" for line in lines)


def _painted(line: Line, colours: bool) -> str:
    line = list(line)
    while line and not line[-1][0].rstrip(" "):
        line.pop()
    if line:
        line[-1] = (line[-1][0].rstrip(" "), line[-1][1])
    runs = ((style, "".join(text for text, _ in run)) for style, run in groupby(line, _style))
    return "".join(_coloured(safe_code(text), style if colours else "") for style, text in runs)


def _coloured(text: str, style: str) -> str:
    codes = ";".join(str(_CODES[name]) for name in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def _style(span: Span) -> str:
    return span[1]


def _paragraphs(spans: Iterable[Span]) -> Iterator[Line]:
    line: Line = []
    for text, style in spans:
        first, *others = text.split("\n")
        line.append((first, style))
        for other in others:
            yield line
            line = [(other, style)]
    yield line


def _places(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends."""
    start, end, used = 0, 0, 0
    for first, last, taken in _chunks(text, width):
        if used and used + taken > width:
            yield start, end
            start, used = first, 0
            taken = cell_len(text[first:last].rstrip(" "))
        used += taken if last == len(text) else cell_len(text[first:last])
        end = last
    yield start, end


def _chunks(text: str, width: int) -> Iterator[Chunk]:
    """What is not broken."""
    for found in _WORDS.finditer(text):
        word, start = found.group(), found.start()
        taken = cell_len(word.rstrip(" "))
        if word.isascii() and (taken <= width or _ADDRESS in word):
            yield start, found.end(), taken
        else:
            yield from ((start + a, start + b, size) for a, b, size in _pieces(word, width))


def _pieces(word: str, width: int) -> Iterator[Chunk]:
    start, used, before = 0, 0, ""
    is_address = _ADDRESS in word
    graphemes, _ = split_graphemes(word)
    was_wide = False
    for first, last, size in graphemes:
        drawn = word[first:last]
        is_wide = size > 1
        may_break = (is_wide or was_wide) and drawn not in _NOT_FIRST and before not in _NOT_LAST
        is_full = used + size > width and not (is_address and not is_wide)
        if used and drawn != " " and (may_break or is_full):
            yield start, first, cell_len(word[start:first].rstrip(" "))
            start, used = first, 0
        used += size
        was_wide, before = is_wide, drawn
    yield start, len(word), cell_len(word[start:].rstrip(" "))


def _cut(spans: Line, start: int, end: int) -> Line:
    line: Line = []
    at = 0
    for text, style in spans:
        piece = text[max(start - at, 0) : max(end - at, 0)]
        at += len(text)
        if piece:
            line.append((piece, style))
    return line


def _head(text: str, width: int) -> str:
    end = 0
    for _, last, size in split_graphemes(text)[0]:
        width -= size
        if width < 0:
            break
        end = last
    return text[:end]
