"""The headings of a Markdown page as the anchors that links name, by GitHub's rules."""

import re
from pathlib import Path

_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_DROPPED = re.compile(r"[^\w\- ]")


def anchor_of(heading: str) -> str:
    """Lower case; spaces become hyphens; other punctuation than `-` and `_` goes."""
    return _DROPPED.sub("", heading.strip().lower()).replace(" ", "-")


def anchors(page: str) -> list[str]:
    """Of every heading, in order; lines inside code are none."""
    return [anchor_of(heading) for heading in _HEADING.findall(_FENCE.sub("", page))]


def section(page: str, anchor: str) -> str:
    """What stands under that heading, with the headings below it."""
    found: list[str] = []
    depth = 0
    is_code = False
    for line in page.splitlines():
        is_code ^= line.startswith("```")
        heading = None if is_code else _HEADING.match(line)
        level = len(line) - len(line.lstrip("#"))
        if heading and not depth and anchor_of(heading[1]) == anchor:
            depth = level
        elif heading and depth and level <= depth:
            break
        if depth:
            found.append(line)
    return "\n".join(found)


def leads_nowhere(link: str, folder: Path) -> bool:
    """Whether a relative link names a file, or a heading in it, that is not there."""
    name, _, anchor = link.partition("#")
    path = (folder / name).resolve()
    if not path.exists():
        return True
    return bool(anchor) and anchor not in anchors(path.read_text(encoding="utf-8"))
