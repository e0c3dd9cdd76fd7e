"""One line of the doctor's report, and how the whole is read in a terminal."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

State = Literal["ok", "missing", "fail"]
"""`fail`: `trunkline up` cannot work here; `missing`: some part of it cannot."""


class Check(msgspec.Struct, frozen=True):
    name: str
    state: State
    detail: str
    fix: str = ""


_MARKS: Final = {"ok": ("ok", "32"), "missing": ("--", "33"), "fail": ("!!", "31")}
_DETAIL_MIN = 40
"""Cells for what is said; where there are fewer, it stands below the name."""


def report(checks: Sequence[Check], width: int | None, *, has_colours: bool) -> Iterator[str]:
    """A line for each, wrapped by words. `width`: of the terminal; None wraps nothing."""
    names = max(len(check.name) for check in checks)
    start = 6 + names
    is_below = width is not None and width - start < _DETAIL_MIN
    for check in checks:
        mark, colour = _MARKS[check.state]
        if has_colours:
            mark = f"\x1b[{colour}m{mark}\x1b[0m"
        said = [check.detail, *([f"fix: {check.fix}"] if check.fix else [])]
        indent = " " * (4 if is_below else start)
        lines = [line for one in said for line in _wrapped(one, width, len(indent))]
        if is_below:
            yield f"{mark}  {check.name}"
        else:
            yield f"{mark}  {check.name:<{names}}  {lines.pop(0)}"
        yield from (indent + line for line in lines)


def _wrapped(text: str, width: int | None, taken: int) -> list[str]:
    from trunkline.cli.human import wrapped

    return [text] if width is None else wrapped(text, max(width - taken, 1))
