"""What became of a file: a unified diff that people can read, and the events that tell of it.

Used by whatever changes files of the workspace, or notices that a command has. A diff is for
reading: it is bounded, and where two texts differ too much to be compared line by line, the whole
part between their first and last difference is shown as replaced.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from trunkline.execution.json_object import Json
from trunkline.execution.texts import Excerpt, readable, shortened
from trunkline.execution.tools.base import ToolRun

DIFF_CHARS_MAX = 16_000  # of one file; what is left out is counted in the text
DIFF_LINE_CHARS_MAX = 2_000
COMPARED_LINES_MAX = 2_000  # on each side, without the common start and end
_CONTEXT_LINES = 3
_NO_NEWLINE = "\\ No newline at end of file"

Content = str | bytes | None
"""Of a file before or after; None: there is none."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of `file_changed`."""

    path: str
    change: Literal["created", "modified", "deleted"]
    diff: str
    additions: int
    deletions: int


def change_of(shown: str, before: Content, after: Content) -> Change | None:
    """How a file differs from what it was; None if it does not. `shown`: its path as people see
    it. Of a file that is no text there is no diff, only that it changed."""
    if before == after:
        return None
    old, new = _lines(before), _lines(after)
    if old is None or new is None:
        diff, additions, deletions = f"Binary file {shown} changed\n", 0, 0
    else:
        diff, additions, deletions = _diff(shown, old, new, before is None, after is None)
    return Change(
        path=shown,
        change="created" if before is None else "deleted" if after is None else "modified",
        diff=diff,
        additions=additions,
        deletions=deletions,
    )


def tell_change(run: ToolRun, shown: str, before: Content, after: Content) -> Change | None:
    """Tells readers what became of a file: `file_changed`, for a new one `file_created` too."""
    changed = change_of(shown, before, after)
    if changed is None:
        return None
    if changed.change == "created" and after is not None:
        size = len(after.encode() if isinstance(after, str) else after)
        run.event({"type": "file_created", "path": shown, "size": size})
    run.event({"type": "file_changed", **msgspec.structs.asdict(changed)})
    return changed


def details_of(changes: Sequence[Change]) -> Json:
    """For the details of a tool's result: the files, and one diff over all of them."""
    diff = Excerpt(DIFF_CHARS_MAX, head_only=True)
    for one in changes:
        diff.add(one.diff)
    return {
        "paths": [one.path for one in changes],
        "diff": str(diff),
        "additions": sum(one.additions for one in changes),
        "deletions": sum(one.deletions for one in changes),
    }


def _lines(content: Content) -> list[str] | None:
    """Split where editors split; None for what is no text."""
    if content is None:
        return []
    if isinstance(content, bytes):
        if b"\0" in content:
            return None
        try:
            content = content.decode()
        except UnicodeDecodeError:
            return None
    pieces = content.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _diff(
    shown: str, old: list[str], new: list[str], is_created: bool, is_deleted: bool
) -> tuple[str, int, int]:
    text = Excerpt(DIFF_CHARS_MAX, head_only=True)
    text.add(f"--- {'/dev/null' if is_created else 'a/' + shown}\n")
    text.add(f"+++ {'/dev/null' if is_deleted else 'b/' + shown}\n")
    additions = deletions = 0
    for group in _hunks(old, new):
        text.add(_header(group))
        for tag, first, last, new_first, new_last in group:
            if tag == "equal":
                _add(text, " ", old[first:last])
                continue
            deletions += last - first
            additions += new_last - new_first
            _add(text, "-", old[first:last])
            _add(text, "+", new[new_first:new_last])
    return readable(str(text)), additions, deletions


def _add(text: Excerpt, sign: str, lines: list[str]) -> None:
    """No more lines than can be shown are made; the others count as left out."""
    for line in lines[:DIFF_CHARS_MAX]:
        text.add(_line(sign, line))


Opcode = tuple[str, int, int, int, int]


def _hunks(old: list[str], new: list[str]) -> Iterator[list[Opcode]]:
    """Of the part between the first and the last difference, numbered as in the whole texts."""
    start = _common(old, new)
    end = _common(old[:start:-1], new[:start:-1])  # never reaches into the common start
    start_shown = max(0, start - _CONTEXT_LINES)
    end_shown = max(0, end - _CONTEXT_LINES)
    some_old = old[start_shown : len(old) - end_shown]
    some_new = new[start_shown : len(new) - end_shown]
    if max(len(some_old), len(some_new)) <= COMPARED_LINES_MAX:
        matcher = SequenceMatcher(None, some_old, some_new)
        groups = matcher.get_grouped_opcodes(_CONTEXT_LINES)
    else:
        before, after = start - start_shown, end - end_shown
        groups = iter([_replaced(len(some_old), len(some_new), before, after)])
    for group in groups:
        yield [
            (tag, a + start_shown, b + start_shown, c + start_shown, d + start_shown)
            for tag, a, b, c, d in group
        ]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _replaced(old: int, new: int, before: int, after: int) -> list[Opcode]:
    opcodes: list[Opcode] = [
        ("equal", 0, before, 0, before),
        ("replace", before, old - after, before, new - after),
        ("equal", old - after, old, new - after, new),
    ]
    return [one for one in opcodes if one[1] < one[2] or one[3] < one[4]]


def _header(group: Sequence[Opcode]) -> str:
    first, last = group[0], group[-1]
    old, new = _range(first[1], last[2]), _range(first[3], last[4])
    return f"@@ -{old} +{new} @@\n"


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return f"{sign}{shortened(line[:-1], DIFF_LINE_CHARS_MAX)}\n"
    return f"{sign}{shortened(line, DIFF_LINE_CHARS_MAX)}\n{_NO_NEWLINE}\n"
