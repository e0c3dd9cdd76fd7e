"""A Chinese page follows its English original: the same parts in the same order, and examples.

What the words say, nobody checks but people. A page that was changed on one side only fails here.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from manual.staging import REPOSITORY, sources

from tests.docs.blocks import blocks

_HEADING = re.compile(r"^(#+) ", re.MULTILINE)
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")

TRANSLATED = sources("zh")


class Shape(NamedTuple):
    """What both have in common."""

    headings: list[int]
    rows: int
    items: int
    blocks: list[tuple[str, dict[str, str], str]]


def shape(text: str) -> Shape:
    prose = _FENCED.sub("", text)
    lines = prose.splitlines()
    return Shape(
        headings=[len(marks) for marks in _HEADING.findall(prose)],
        rows=sum(line.startswith("|") for line in lines),
        items=sum(bool(re.match(r" *(?:[-*]|\d+\.) ", line)) for line in lines),
        blocks=[(one.language, one.options, one.text) for one in blocks(text, "")],
    )


@pytest.mark.parametrize("page", sorted(TRANSLATED))
def test_a_chinese_page_is_shaped_like_its_original(page: str) -> None:
    theirs = shape(_text(sources("en")[page]))
    ours = shape(_text(TRANSLATED[page]))
    assert ours.headings == theirs.headings
    assert (ours.rows, ours.items) == (theirs.rows, theirs.items)
    assert ours.blocks == theirs.blocks


@pytest.mark.parametrize("page", sorted(TRANSLATED))
def test_a_chinese_page_names_what_its_original_names(page: str) -> None:
    """Names of fields, commands and settings, and the pages that are linked."""
    original, text = _text(sources("en")[page]), _text(TRANSLATED[page])
    named = set(_CODE.findall(_FENCED.sub("", original)))
    assert sorted(named - set(_CODE.findall(_FENCED.sub("", text)))) == []
    assert _targets(text, TRANSLATED[page]) == _targets(original, sources("en")[page])


def test_a_chinese_page_leads_to_chinese_pages_where_there_are_some() -> None:
    translated = {sources("en")[page].resolve() for page in TRANSLATED}
    passed_by = [
        f"{page}: {link}"
        for page, path in TRANSLATED.items()
        for link in _LINK.findall(_FENCED.sub("", _text(path)))
        if (path.parent / link.partition("#")[0]).resolve() in translated
    ]
    assert passed_by == []


def test_the_first_steps_and_the_guides_are_there_in_chinese() -> None:
    guides = {page for page in sources("en") if page.startswith("guide/")}
    assert sorted({"index.md", *guides} - TRANSLATED.keys()) == []
    assert [page for page, path in TRANSLATED.items() if not _CHINESE.search(_text(path))] == []


def _targets(text: str, page: Path) -> set[str]:
    """The English pages that a page leads to, itself or by their translations."""
    found = set()
    for link in _LINK.findall(_FENCED.sub("", text)):
        name = link.partition("#")[0]
        if not name or "://" in name:
            continue
        target = (page.parent / name).resolve()
        inside = target.is_relative_to(REPOSITORY.chinese)
        found.add(str(target.relative_to(REPOSITORY.chinese if inside else REPOSITORY.docs.parent)))
    return {one.removeprefix("docs/") for one in found}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
