"""Markdown as it streams into a terminal: the same whatever the pieces, as wide as the screen, and
nothing in it acts on the terminal."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from trunkline.cli.chat.render.markdown import Markdown
from trunkline.cli.chat.render.transcript import Transcript
from trunkline.client import Event

SGR = re.compile(r"\x1b\[[0-9;]+m")
ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PROSE = [
    *("# Title", "Title\n===", "text **bold** `code` end", "- item", "  - nested", "1. one"),
    *("2. two", "> quote", "> > deeper", "| a | b |", "|---|--:|", "| x | 中文 |", "", "", "---"),
    *("a | b", "--- | ---", "***", "[x](/c)", "[x]: /b", "[x]", "<b>html</b>", "*a", "_b_ **"),
    *("中文字符可以断行，标点不可以，" * 8, "long " * 30, "x" * 300, "- [ ] todo", "![img](x.png)"),
    *(
        "\\",
        "&#27;[2J &#x202e;",
        "\x1b[2J\x07",
        "\u202e",
        "a\rb",
        "\r",
        "👩‍👩‍👧" * 40,
        "e\u0301\u0302",
    ),
    *("| " + "cell " * 9 + "|" + " 中文" * 20 + "|", "&lt;b&gt;", "> - 1. deep " + "word " * 30),
]
CODE = ["```python", "```", "~~~", "    indented", "def f(): return 1", "\t- tab", "<https://a.b>"]
odd = st.text(st.characters(exclude_characters="`~\t "), max_size=20)
prose = st.lists(st.sampled_from(PROSE) | odd, max_size=12).map("\n".join)
documents = st.lists(st.sampled_from(PROSE + CODE) | st.text(max_size=20), max_size=14)


def shown(*pieces: str, width: int = 60, colours: bool = False) -> str:
    transcript = Transcript(width=lambda: width, colours=colours, clock=lambda: 0.0)
    text = "".join(
        transcript.feed(Event(at, {"type": "text_chunk", "content": piece}))
        for at, piece in enumerate(pieces, 1)
    )
    return text + transcript.end()


@settings(deadline=None)
@given(documents.map("\n".join), st.data())
def test_the_pieces_it_came_in_make_no_difference(text: str, data: Any) -> None:
    edges = [0, *sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8))), len(text)]
    whole = shown(text)
    assert shown(*(text[start:end] for start, end in pairwise(edges))) == whole
    assert shown(*text) == whole


@settings(deadline=None)
@given(documents.map("\n".join), st.sampled_from([40, 80]))
def test_nothing_that_a_model_says_acts_on_the_terminal(text: str, width: int) -> None:
    assert not ACTS.search(shown(text, width=width).replace("\t", ""))
    assert not ACTS.search(SGR.sub("", shown(text, width=width, colours=True)).replace("\t", ""))


@settings(deadline=None)
@given(prose, st.integers(40, 200))
def test_lines_are_as_wide_as_the_terminal(text: str, width: int) -> None:
    for line in shown(text, width=width).split("\n"):
        assert cell_len(line) <= width


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("中文没有空格", 5, ["中文", "没有", "空格"]),
        ("中文，逗号", 5, ["中", "文，", "逗号"]),  # no comma at the beginning of a line
        ("用「引号」吧", 5, ["用", "「引", "号」", "吧"]),
        ("see 中文 here", 8, ["see 中文", "here"]),
        ("a" * 12, 8, ["a" * 8, "a" * 4]),
        ("see https://example.com/a/b/c now", 12, ["see", "https://example.com/a/b/c", "now"]),
        ("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 4, ["👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧"]),
        ("a\\\nb", 20, ["a", "b"]),
        ("# Title", 20, ["# Title"]),
        ("- one\n- two three", 21, ["• one", "• two three"]),
        ("3. one\n4. two", 21, ["3. one", "4. two"]),
        ("- one\n\n  more\n- two", 21, ["• one", "", "  more", "", "• two"]),
        ("> said " + "x " * 10, 21, ["│ said x x x x x x x", "│ x x x"]),
        ("[here](https://evil.example)", 80, ["here (https://evil.example)"]),
        ("[https://a.b](https://c.d)", 80, ["https://a.b (https://c.d)"]),
        ("<https://a.b>", 80, ["https://a.b"]),
        ("![a cat](cat.png)", 80, ["[a cat] (cat.png)"]),
        ("<b>no</b>", 80, ["<b>no</b>"]),
        ("```sh\nls  -la\n\n\tx\n```", 8, ["```sh", "ls  -la", "", "\tx", "```"]),
        ("```\n" + "y" * 99 + "\n```", 8, ["```", "y" * 99, "```"]),
        (">" * 60 + " deep", 80, [">" * 60 + " deep"]),  # deeper than is read: as it is
    ],
)
def test_blocks_look_like_this(text: str, width: int, lines: list[str]) -> None:
    rows = Markdown(colours=False).lines(text, width)
    assert ["".join(part for part, _ in row).rstrip(" ") for row in rows] == lines


def test_a_table_fits_or_becomes_records() -> None:
    text = "| name | number | about |\n|---|--:|---|\n| one | 7 | a few words that are many |\n"
    assert shown(text, width=40).split("\n") == [
        "name  number  about",
        "────  ──────  ─────────────────────────",
        "one        7  a few words that are many",
        "",
    ]
    assert shown(text, width=30).split("\n")[2:4] == [
        "one        7  a few words that",
        "              are many",
    ]
    many = "|" + " column |" * 8 + "\n|" + "---|" * 8 + "\n|" + " some value |" * 8
    assert shown(many, width=40).split("\n")[:2] == ["column: some value"] * 2


def test_what_is_closed_is_shown_at_once_and_what_is_open_stands_in_the_tail() -> None:
    transcript = Transcript(width=lambda: 40, colours=False, clock=lambda: 0.0)

    def say(piece: str) -> str:
        return transcript.feed(Event(1, {"type": "text_chunk", "content": piece}))

    assert say("First.\n\nSec") == ""
    assert transcript.tail() == "First.\n\nSec\n"
    assert say("ond\n- a") == "First.\n"
    assert transcript.tail() == "\nSecond\n\n• a\n"
    assert transcript.end() == "\nSecond\n\n• a\n"
    assert transcript.tail() == ""


def test_nothing_is_missing_of_what_is_too_long_to_be_parsed() -> None:
    marks = "`*_[" * 5_000
    assert shown(marks).replace("\n", "") == marks
    assert shown("> " + "word " * 20_000).count("word") == 20_000
