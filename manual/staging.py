"""What is done to a page on its way into the site. In the repository it stays as forges show it.

- Info strings keep only their language; the rest is for the tests that run the examples.
- Links to pages that stand outside of `docs/` lead to their copies, links to other files of the
  repository become plain text, and links of a Chinese page to one that is only in English lead to
  the English site.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from manual.sections import FROM_THE_ROOT, html_of

CHINESE_PREFIX = "zh/"

_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*(.*)$")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
_MEDIA = re.compile(r'((?:src|srcset)=")([^":]+)(")')
_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")


class Tree(NamedTuple):
    """A repository whose pages make a manual."""

    root: Path

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    @property
    def chinese(self) -> Path:
        return self.docs / "zh"


REPOSITORY = Tree(Path(__file__).parents[1])


def sources(language: str, tree: Tree = REPOSITORY) -> dict[str, Path]:
    """Every page of a language by its place in that language's site."""
    chinese = {path.relative_to(tree.chinese).as_posix(): path for path in _pages(tree.chinese)}
    if language == "zh":
        return chinese
    found = {path.relative_to(tree.docs).as_posix(): path for path in _pages(tree.docs)}
    moved = {place: tree.root / name for name, place in FROM_THE_ROOT.items()}
    found |= {place: path for place, path in moved.items() if path.exists()}
    return {page: path for page, path in found.items() if path not in chinese.values()}


def staged(path: Path, place: str, language: str, tree: Tree = REPOSITORY) -> str:
    """The text of a page as the generator gets it."""

    def link(target: str) -> str | None:
        return resolved(target, path, place, language, tree)

    lines: list[str] = []
    fence = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        marks = _FENCE.match(line)
        if marks and not fence:
            fence = marks[2]
            words = marks[3].split()
            lines.append(f"{marks[1]}{fence}{words[0] if words else ''}")
        elif fence:
            if marks and marks[2].startswith(fence) and not marks[3]:
                fence = ""
            lines.append(line)
        else:
            lines.append(_with_links(line, link))
    return "\n".join(lines) + "\n"


def resolved(
    target: str, path: Path, place: str, language: str, tree: Tree = REPOSITORY
) -> str | None:
    """A link of a page as it is written in the site; None when the site has no such page."""
    name, mark, anchor = target.partition("#")
    if "://" in target or target.startswith("mailto:") or not name:
        return target
    file = (path.parent / name).resolve()
    if file.is_dir():
        return None
    if not file.is_relative_to(tree.root):
        return target
    where, theirs = _place(file, tree)
    if where is None:
        return None
    here = os.path.dirname(place)
    if theirs == language or (language == "zh" and file.suffix != ".md"):
        return os.path.relpath(where, here or ".") + mark + anchor
    across = where if theirs == "en" else CHINESE_PREFIX + where
    base = here if language == "en" else CHINESE_PREFIX + here
    return os.path.relpath(html_of(across), base or ".") + mark + anchor


def _place(file: Path, tree: Tree) -> tuple[str | None, str]:
    moved = FROM_THE_ROOT.get(file.relative_to(tree.root).as_posix())
    if moved is not None:
        return moved, "en"
    if file.is_relative_to(tree.chinese):
        return file.relative_to(tree.chinese).as_posix(), "zh"
    if file.is_relative_to(tree.docs):
        return file.relative_to(tree.docs).as_posix(), "en"
    return None, "en"


def _with_links(line: str, link: Callable[[str], str | None]) -> str:
    kept: list[str] = []

    def hide(span: re.Match[str]) -> str:
        kept.append(span[0])
        return f"\x00{len(kept) - 1}\x00"

    def written(found: re.Match[str]) -> str:
        target = link(found[3])
        return found[2] if target is None else f"{found[1]}[{found[2]}]({target})"

    def pictured(found: re.Match[str]) -> str:
        return f"{found[1]}{link(found[2]) or found[2]}{found[3]}"

    line = _SPAN.sub(hide, line)
    line = _MEDIA.sub(pictured, _LINK.sub(written, line))
    return re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], line)


def _pages(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.md"))
