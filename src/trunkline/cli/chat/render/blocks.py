"""Markdown that streams in, as a list of top-level blocks.

Only the open tail is parsed again, and only at the end of a line: cut anywhere else, a block is
taken for another one (`a` + `---` …).
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_PARSED_ALWAYS = 1024
"""A tail that is shorter is parsed at every line; a longer one when it has grown by an eighth, so
that a list or a fence without an end costs its length a few times and not its square."""
_DEPTH_MAX = 40
_INLINE_CHARS_MAX = 8_000
"""A longer paragraph is shown as it was written: some marks take the square of its length."""


@cache
def parser() -> "MarkdownIt":
    """Without HTML, and without references to addresses that may come later: both are shown as
    they were written."""
    from markdown_it import MarkdownIt

    return (
        MarkdownIt("commonmark", {"html": False, "maxNesting": _DEPTH_MAX})
        .enable(["table", "strikethrough"])
        .disable(["html_block", "html_inline", "reference"])
    )


class Blocks:
    """One message. What `push` and `end` return cannot change any more."""

    def __init__(self) -> None:
        self.tail = ""
        """What is still open: a block that may go on, and a line without its end."""
        self._held = ""
        self._parsed = 0

    def push(self, piece: str) -> list[str]:
        """The blocks that are over now, as they were written."""
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r") if self._held else text
        self.tail += text.replace("\r\n", "\n").replace("\r", "\n")
        end = self.tail.rfind("\n") + 1
        if end <= self._parsed or (end > _PARSED_ALWAYS and end < self._parsed * 9 // 8):
            return []
        *closed, last = _split(self.tail[:end]) or [""]
        self.tail = last + self.tail[end:]
        self._parsed = len(last)
        return closed

    def end(self) -> list[str]:
        """The rest: the message is whole."""
        text = self.tail
        self.tail, self._held, self._parsed = "", "", 0
        return [block for block in _split(text) if block.strip()]


def parsed(text: str) -> "list[Token] | None":
    """None: it is nested deeper than is read, so that something would be missing."""
    tokens = _block_tokens(text)
    if any(one.level >= _DEPTH_MAX - 1 for one in tokens):
        return None
    for one in tokens:
        if one.type == "inline" and len(one.content) <= _INLINE_CHARS_MAX:
            one.children = []
            parser().inline.parse(one.content, parser(), {}, one.children)
    return tokens


def _block_tokens(text: str) -> "list[Token]":
    tokens: list[Token] = []
    parser().block.parse(text, parser(), {}, tokens)
    return tokens


def _split(text: str) -> list[str]:
    """Top-level blocks; the last one has all that follows it."""
    tokens = _block_tokens(text)
    starts = [one.map[0] for one in tokens if one.level == 0 and one.map and one.nesting >= 0]
    if not starts:
        return []
    lines = text.split("\n")
    ends = [*starts[1:], len(lines)]
    places = zip(starts, ends, strict=True)
    blocks = ["\n".join(lines[start:end]) + "\n" for start, end in places]
    blocks[-1] = blocks[-1][:-1]
    return blocks
