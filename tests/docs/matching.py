"""Whether a program printed what a page says. The page is read by people, so the comparison is
loose: `…` is anything, and ids, times and spaces are alike."""

import re

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_ALIKE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s)\b"), "<lasting>"),
    (re.compile(r"[ \t]+"), " "),
)


def is_like(printed: str, page: str) -> bool:
    """Whether all of it is what the page shows."""
    pattern = re.escape(_plain(page)).replace(r"\ ", r"\s*")
    pattern = pattern.replace("\\\n…\\\n", "\\\n(?:.*\\\n)?")
    pattern = re.sub("\\\\\n…$", r"(?:\\n.*)?", pattern).replace("…", ".*")
    return re.fullmatch(pattern, _plain(printed), re.DOTALL) is not None


def _plain(text: str) -> str:
    text = _COLOURS.sub("", text)
    for pattern, name in _ALIKE:
        text = pattern.sub(name, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())
