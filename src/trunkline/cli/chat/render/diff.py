"""Changes of a file in colour, and what a call says of them where no machine saw them."""

import difflib
import re
from typing import NamedTuple

from trunkline.cli.chat.render.layout import Line, clip, more, paint, safe, safe_code
from trunkline.cli.chat.render.values import Data, count, mappings, number, word
from trunkline.cli.human import size

_SHOWN_LINES = 16
_HEADS = ("--- ", "+++ ", "diff ", "index ")
_NO_NEWLINE = "\\ No newline"
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_WRITES = frozenset(("write", "write_file", "create"))


class Change(NamedTuple):
    """What became of one file. `diff`: unified, without its head."""

    path: str
    what: str
    diff: list[str]
    additions: int = 0
    deletions: int = 0
    bytes_now: float | None = None


def change_of(data: Data) -> Change | None:
    """Of `file_created` and `file_changed`."""
    path = word(data.get("path")) or word(data.get("name"))
    if not path:
        return None
    what = word(data.get("change")) or "created"
    diff = _body(word(data.get("diff")))
    added, removed = count(data.get("additions")), count(data.get("deletions"))
    return Change(path, what, diff, added, removed, number(data.get("size")))


def merged(changes: list[Change], new: Change) -> list[Change]:
    """With one more; what is said twice of one file stands once."""
    for at, one in enumerate(changes):
        if one.path == new.path:
            what = one.what if new.what == "modified" else new.what
            both = Change(
                one.path,
                what,
                one.diff + new.diff,
                one.additions + new.additions,
                one.deletions + new.deletions,
                one.bytes_now if new.bytes_now is None else new.bytes_now,
            )
            return [*changes[:at], both, *changes[at + 1 :]]
    return [*changes, new]


def edits_of(name: str, given: Data, details: Data) -> list[Change]:
    """What a call changes, as it says itself."""
    path = (
        word(given.get("file_path")) or word(given.get("path")) or word(given.get("notebook_path"))
    )
    if not path:
        return []
    if diff := word(details.get("diff")):
        return [_counted(path, "modified", _body(diff))]
    if isinstance(given.get("old_string"), str) and isinstance(given.get("new_string"), str):
        return [_replaced(path, given)]
    if edits := mappings(given.get("edits")):
        found: list[Change] = []
        for one in edits:
            found = merged(found, _replaced(path, one))
        return found
    if name.lower() in _WRITES and isinstance(given.get("content"), str):
        return [_counted(path, "written", [f"+{line}" for line in _lines(given["content"])])]
    return []


def coloured(patch: str, *, colours: bool) -> str:
    """A whole patch, of any number of files."""
    rows: list[Line] = [[(safe_code(line), _style_of(line))] for line in _lines(patch)]
    return paint(rows, colours=colours)


def _style_of(line: str) -> str:
    return "bold" if line.startswith(_HEADS) else _style(line)


def counts(change: Change) -> Line:
    if change.additions or change.deletions:
        return [(f" +{change.additions}", "green"), (f" -{change.deletions}", "red")]
    return [] if change.bytes_now is None else [(f" · {size(change.bytes_now)}", "dim")]


def shown(change: Change, width: int, *, is_whole: bool) -> list[Line]:
    """One line about the file, and its beginning or all of it below."""
    what = {"created": "new", "deleted": "deleted", "written": "written"}.get(change.what, "")
    about: Line = [(f" · {what}", "dim")] if what else []
    head: Line = [("± ", "cyan"), (safe(change.path), "bold"), *counts(change), *about]
    return [clip(head, width), *body(change, width, is_whole=is_whole)]


def body(change: Change, width: int, *, is_whole: bool) -> list[Line]:
    most = len(change.diff) if is_whole else _SHOWN_LINES
    rows: list[Line] = [[(safe(line), _style(line))] for line in change.diff[:most]]
    lines = rows if is_whole else [clip(row, width) for row in rows]
    if (left := len(change.diff) - most) > 0:
        lines.append(more(left, ", /diff"))
    return lines


def _style(line: str) -> str:
    if line.startswith("@@"):
        return "dim"
    return {"+": "green", "-": "red"}.get(line[:1], "")


def _replaced(path: str, given: Data) -> Change:
    before, after = _lines(word(given.get("old_string"))), _lines(word(given.get("new_string")))
    diff = [line.rstrip("\n") for line in difflib.unified_diff(before, after, n=2, lineterm="")]
    return _counted(path, "modified", [line for line in diff[2:] if not _HUNK.fullmatch(line)])


def _counted(path: str, what: str, diff: list[str]) -> Change:
    added = sum(line.startswith("+") for line in diff)
    removed = sum(line.startswith("-") for line in diff)
    return Change(path, what, diff, added, removed)


def _body(diff: str) -> list[str]:
    """Without its head: the path stands above it."""
    lines = [line for line in _lines(diff) if not line.startswith(_NO_NEWLINE)]
    while lines and lines[0].startswith(_HEADS):
        lines.pop(0)
    return lines


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
