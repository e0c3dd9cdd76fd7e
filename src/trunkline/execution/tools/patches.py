"""Patches as models write them: unified diffs, and the form between `*** Begin Patch` and
`*** End Patch`. Read and applied to texts; files are somebody else's. Pure.

Models count lines badly and copy them well: a hunk is put where its lines are, nearest to where it
says, and line numbers alone decide nothing.
"""

import re
from typing import Literal

import msgspec

from trunkline.execution.errors import ToolError
from trunkline.execution.texts import shortened

PATCH_CHARS_MAX = 2_000_000
PATCH_FILES_MAX = 200
PATCHED_LINES_MAX = 300_000  # of a file that is patched

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE, _END_OF_FILE = "*** Move to: ", "*** End of File"
_RANGE = re.compile(r"^@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@")
_NO_NEWLINE = "\\ No newline at end of file"
_NOWHERE = "/dev/null"


class Hunk(msgspec.Struct, kw_only=True):
    """Lines that are there, and what comes instead. `line`: where they should be, from 0; `below`:
    a line that they come after."""

    old: list[str] = []
    new: list[str] = []
    line: int | None = None
    below: str = ""
    at_end: bool = False
    last_sign: str = ""
    ends_open: bool | None = None
    """Whether the file ends without a line end afterwards, where the patch says so."""


class FilePatch(msgspec.Struct, kw_only=True):
    """What becomes of one file."""

    path: str
    kind: Literal["add", "delete", "update"]
    moved_to: str = ""
    hunks: list[Hunk] = []

    @property
    def paths(self) -> list[str]:
        return [self.path, self.moved_to] if self.moved_to else [self.path]


def parsed(text: str) -> list[FilePatch]:
    """The files of a patch. Raises ToolError for what is none."""
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    lines = lines[first:]
    if not lines:
        raise ToolError("the patch is empty")
    found = _begun(lines) if lines[0].strip() == _BEGIN else _unified(lines)
    if not found:
        raise ToolError(
            "this is no patch: neither a unified diff (--- a/FILE, +++ b/FILE, @@ … @@) nor one "
            f"that starts with {_BEGIN!r}"
        )
    if len(found) > PATCH_FILES_MAX:
        raise ToolError(f"a patch changes at most {PATCH_FILES_MAX} files")
    paths = [path for one in found for path in one.paths]
    for path in paths:
        if paths.count(path) > 1:
            raise ToolError(f"the patch names {shortened(path)!r} twice; change it in one place")
    return found


def _begun(lines: list[str]) -> list[FilePatch]:
    """The form with `*** Begin Patch`; its end may be missing."""
    found: list[FilePatch] = []
    for number, line in enumerate(lines[1:], 2):
        patch = found[-1] if found else None
        if line.strip() == _END:
            break
        if line.startswith(_ADD):
            path = line.removeprefix(_ADD).strip()
            found.append(FilePatch(path=path, kind="add", hunks=[Hunk()]))
        elif line.startswith(_DELETE):
            found.append(FilePatch(path=line.removeprefix(_DELETE).strip(), kind="delete"))
        elif line.startswith(_UPDATE):
            found.append(FilePatch(path=line.removeprefix(_UPDATE).strip(), kind="update"))
        elif patch is None:
            raise ToolError(f"line {number} of the patch belongs to no file: {shortened(line)!r}")
        elif line.startswith(_MOVE) and patch.kind == "update" and not patch.hunks:
            patch.moved_to = line.removeprefix(_MOVE).strip()
        elif line.strip() == _END_OF_FILE and patch.hunks:
            patch.hunks[-1].at_end = True
        elif line.startswith("@@") and patch.kind == "update":
            patch.hunks.append(_hunk(line))
        else:
            if patch.kind == "update" and not patch.hunks:
                patch.hunks.append(Hunk())
            _add(patch, line, number)
    return found


def _unified(lines: list[str]) -> list[FilePatch]:
    found: list[FilePatch] = []
    old_path, moved_from, left = "", "", [0, 0]
    for number, line in enumerate(lines, 1):
        patch = found[-1] if found else None
        if patch is not None and patch.hunks and any(left):
            _add(patch, line, number)
            left[0] -= line[:1] in ("-", " ", "")
            left[1] -= line[:1] in ("+", " ", "")
        elif line.startswith("--- "):
            old_path = _path(line)
        elif line.startswith("+++ "):
            found.append(_of_paths(old_path, _path(line), number))
        elif line.startswith("rename from "):
            moved_from = line.removeprefix("rename from ").strip()
        elif line.startswith("rename to "):
            moved_to = line.removeprefix("rename to ").strip()
            found.append(FilePatch(path=moved_from, kind="update", moved_to=moved_to))
        elif line.startswith("@@"):
            if patch is None:
                raise ToolError(f"line {number} of the patch belongs to no file")
            patch.hunks.append(_hunk(line))
            left = _lengths(line)
        elif line == _NO_NEWLINE and patch is not None and patch.hunks:
            _add(patch, line, number)
        elif patch is not None and patch.hunks and line[:1] in (" ", "+", "-"):
            _add(patch, line, number)  # more lines than its header says
        elif line.startswith(("GIT binary patch", "Binary files ")):
            raise ToolError("the patch changes a binary file, which cannot be done here")
    return _without_renames(found)


def _without_renames(found: list[FilePatch]) -> list[FilePatch]:
    """A rename with changes is told twice: once by its names, once by its hunks."""
    kept: list[FilePatch] = []
    for patch in found:
        before = kept[-1] if kept else None
        is_bare_rename = before is not None and bool(before.moved_to) and not before.hunks
        if before is not None and is_bare_rename and patch.paths == before.paths:
            kept[-1] = patch
        else:
            kept.append(patch)
    return kept


def _of_paths(old: str, new: str, number: int) -> FilePatch:
    if not old or (old == _NOWHERE and new == _NOWHERE):
        raise ToolError(f"line {number} of the patch has no `---` line before it")
    if old == _NOWHERE:
        return FilePatch(path=new, kind="add")
    if new == _NOWHERE:
        return FilePatch(path=old, kind="delete")
    return FilePatch(path=old, kind="update", moved_to="" if new == old else new)


def _path(line: str) -> str:
    text = line[4:].split("\t")[0].strip()
    if text == _NOWHERE:
        return text
    return text[2:] if text[:2] in ("a/", "b/") else text


_COUNTS = re.compile(r"^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")


def _lengths(line: str) -> list[int]:
    """How many lines the header promises; none where it promises nothing."""
    counts = _COUNTS.match(line)
    return [0, 0] if counts is None else [int(one) if one else 1 for one in counts.groups()]


def _hunk(line: str) -> Hunk:
    place = _RANGE.match(line)
    if place is not None:
        return Hunk(line=max(0, int(place[1]) - 1))
    return Hunk(below=line.removeprefix("@@").removesuffix("@@").strip())


def _add(patch: FilePatch, line: str, number: int) -> None:
    """One line of the newest hunk. Models leave out the space before an empty line."""
    if not patch.hunks:
        raise ToolError(f"line {number} of the patch stands in no hunk: {shortened(line)!r}")
    hunk, sign, text = patch.hunks[-1], line[:1], line[1:]
    if line == _NO_NEWLINE:
        # Behind a removed line it says how the file ended, behind another how it ends now.
        hunk.ends_open = hunk.last_sign != "-"
    elif sign == "+":
        hunk.new.append(text)
    elif sign == "-" and patch.kind != "add":
        hunk.old.append(text)
    elif sign in (" ", "") and patch.kind != "add":
        hunk.old.append(text)
        hunk.new.append(text)
    else:
        raise ToolError(f"line {number} of the patch is no line of a hunk: {shortened(line)!r}")
    hunk.last_sign = sign


def created(patch: FilePatch) -> str:
    """The text of a file that the patch adds."""
    lines = [line for hunk in patch.hunks for line in hunk.new]
    is_open = any(hunk.ends_open for hunk in patch.hunks)
    return "\n".join(lines) + ("" if is_open or not lines else "\n")


def updated(patch: FilePatch, text: str) -> str:
    """The text of a file as the patch changes it. Raises ToolError where a hunk fits nowhere."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    lines = plain.split("\n")
    ends_open = bool(lines[-1])
    if not ends_open:
        lines.pop()
    if len(lines) > PATCHED_LINES_MAX:
        raise ToolError(f"{patch.path} has more than {PATCHED_LINES_MAX} lines")
    cursor = shift = 0
    for number, hunk in enumerate(patch.hunks, 1):
        place = _place(lines, hunk, cursor, shift)
        if place is None:
            raise ToolError(_misfit(patch.path, number, hunk))
        lines[place : place + len(hunk.old)] = hunk.new
        cursor = place + len(hunk.new)
        if hunk.line is not None:
            shift = place - hunk.line + len(hunk.new) - len(hunk.old)
        if hunk.ends_open is not None and cursor == len(lines):
            ends_open = hunk.ends_open
    made = "\n".join(lines) + ("" if ends_open or not lines else "\n")
    return made if line_end == "\n" else made.replace("\n", line_end)


def _place(lines: list[str], hunk: Hunk, cursor: int, shift: int) -> int | None:
    """Where the hunk's lines are: exactly, else but for blanks at their ends."""
    start = cursor
    if hunk.below:
        below = _found_below(lines, hunk.below, cursor)
        if below is None:
            return None
        start = below
    if not hunk.old:
        return _place_of_addition(lines, hunk, start, shift)
    for same in (list[str].copy, _stripped):
        places = _places(same(lines), same(hunk.old), start)
        if not places:
            continue
        if hunk.at_end:
            return places[-1]
        if hunk.line is None:
            return places[0]
        wanted = hunk.line + shift
        return min(places, key=lambda place: abs(place - wanted))
    return None


def _place_of_addition(lines: list[str], hunk: Hunk, start: int, shift: int) -> int:
    """Of lines that are only added: `@@ -5,0` means behind line 5."""
    if hunk.line is None:
        return start if hunk.below else len(lines)
    wanted = hunk.line + shift + (1 if lines else 0)
    return min(max(start, wanted), len(lines))


def _found_below(lines: list[str], wanted: str, cursor: int) -> int | None:
    for number in range(cursor, len(lines)):
        if lines[number].strip() == wanted:
            return number + 1
    return None


def _places(lines: list[str], wanted: list[str], start: int) -> list[int]:
    first, length = wanted[0], len(wanted)
    places: list[int] = []
    number = start
    while True:
        try:
            number = lines.index(first, number, len(lines) - length + 1)
        except ValueError:
            return places
        if lines[number : number + length] == wanted:
            places.append(number)
        number += 1


def _stripped(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines]


def _misfit(path: str, number: int, hunk: Hunk) -> str:
    wanted = "\n".join(hunk.old[:3]) or hunk.below
    return (
        f"hunk {number} does not fit {path}: these lines are not there. Read the file and copy "
        f"them exactly. Nothing was changed.\n{shortened(wanted, 300)}"
    )
