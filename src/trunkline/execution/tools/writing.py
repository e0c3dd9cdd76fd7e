"""The tools that change files: `write_file`, `edit_file`, `apply_patch`.

They do so one after the other, over all sessions, so that no edit gets lost; and each does all that
it was asked for, or nothing. What became of each file is told with a diff.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from trunkline.execution.errors import LockBusy, ToolError
from trunkline.execution.files import locked
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import children
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema
from trunkline.execution.tools.changes import details_of, tell_change
from trunkline.execution.tools.patches import PATCH_CHARS_MAX, FilePatch, created, parsed, updated
from trunkline.execution.tools.text_files import PATH, Paths, is_there, read_text, write_text

EDITS_MAX = 100  # of one call


class _Rewrite(msgspec.Struct, kw_only=True):
    """What a file holds and is to hold; None: there is none."""

    path: Path
    shown: str
    before: str | None
    after: str | None


class _Writer(Tool):
    def __init__(self, paths: Paths, home: Home) -> None:
        self._paths = paths
        self._lock = home.locks / "files.lock"

    def is_dangerous(self, arguments: Json) -> bool:
        return True

    def touches(self, arguments: Json) -> Touches:
        return Touches(writes=self._paths.touched(arguments["path"]))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        try:
            async with locked(self._lock):
                rewrites = await children.call(self._planned, arguments)
                await children.call(_written, rewrites)
        except LockBusy as error:
            raise ToolError("another session is writing files and does not finish") from error
        told = [tell_change(run, one.shown, one.before, one.after) for one in rewrites]
        details = details_of([one for one in told if one is not None])
        if len(rewrites) == 1:
            details["path"] = rewrites[0].shown
        return ToolResult(content=self._said(rewrites, arguments), details=details)

    def _planned(self, arguments: Json) -> list[_Rewrite]:
        """What is to be done, if all of it can be. Raises ToolError."""
        raise NotImplementedError

    def _said(self, rewrites: Sequence[_Rewrite], arguments: Json) -> str:
        raise NotImplementedError


def _written(rewrites: Sequence[_Rewrite]) -> None:
    """All of them or none."""
    done: list[_Rewrite] = []
    try:
        for one in rewrites:
            _write(one, one.after)
            done.append(one)
    except ToolError:
        for one in reversed(done):
            _write(one, one.before)
        raise


def _write(rewrite: _Rewrite, text: str | None) -> None:
    if text is not None:
        write_text(rewrite.path, text, rewrite.shown)
        return
    try:
        rewrite.path.unlink(missing_ok=True)
    except OSError as error:
        raise ToolError(f"{rewrite.shown} cannot be removed: {error.strerror}") from error


def _text_if_there(path: Path, shown: str) -> str | None:
    """For a diff; of what is no text there is none, and it is simply replaced."""
    if not is_there(path):
        return None
    try:
        return read_text(path, shown)
    except ToolError:
        return ""


class WriteFile(_Writer):
    name = "write_file"
    description = "Writes a text file of the workspace, in place of what is there."
    parameters = object_schema(
        {"path": PATH, "content": {"type": "string"}},
        required=["path", "content"],
    )

    def _planned(self, arguments: Json) -> list[_Rewrite]:
        path = self._paths.writable(arguments["path"])
        shown = self._paths.shown(path)
        before = _text_if_there(path, shown)
        return [_Rewrite(path=path, shown=shown, before=before, after=arguments["content"])]

    def _said(self, rewrites: Sequence[_Rewrite], arguments: Json) -> str:
        [one] = rewrites
        did = "Created" if one.before is None else "Wrote"
        return f"{did} {one.shown} ({len(arguments['content'].encode())} bytes)."


_EDIT: Json = {
    "old_text": {"type": "string", "minLength": 1},
    "new_text": {"type": "string"},
    "replace_all": {"type": "boolean"},
}


class EditFile(_Writer):
    name = "edit_file"
    description = (
        "Replaces pieces of text in a file of the workspace: one by `old_text` and `new_text`, or "
        "several at once by `edits`, which are made in their order, all or none. `old_text` must "
        "be exactly what the file has, spaces and line ends included, and occur once, unless "
        "`replace_all` is true."
    )
    parameters = object_schema(
        {
            "path": PATH,
            **_EDIT,
            "edits": {
                "type": "array",
                "minItems": 1,
                "maxItems": EDITS_MAX,
                "items": object_schema(_EDIT, required=["old_text", "new_text"]),
            },
        },
        required=["path"],
    )

    def _planned(self, arguments: Json) -> list[_Rewrite]:
        path = self._paths.writable(arguments["path"])
        shown = self._paths.shown(path)
        edits = _edits(arguments)
        before = after = read_text(path, shown)
        for number, edit in enumerate(edits, 1):
            where = shown if len(edits) == 1 else f"{shown} (edit {number}; nothing was changed)"
            after = _edited(after, edit, where)
        return [_Rewrite(path=path, shown=shown, before=before, after=after)]

    def _said(self, rewrites: Sequence[_Rewrite], arguments: Json) -> str:
        [one] = rewrites
        edits, before = _edits(arguments), one.before or ""
        count = before.count(edits[0]["old_text"]) if len(edits) == 1 else len(edits)
        return f"Changed {one.shown} in {'1 place' if count == 1 else f'{count} places'}."


def _edits(arguments: Json) -> list[Json]:
    """Raises ToolError unless they are given in one of the two forms."""
    is_single = "old_text" in arguments and "new_text" in arguments
    if is_single == ("edits" in arguments):
        raise ToolError("give either old_text and new_text, or edits")
    return [arguments] if is_single else arguments["edits"]


def _edited(text: str, edit: Json, shown: str) -> str:
    old, new = edit["old_text"], edit["new_text"]
    count = text.count(old)
    if old == new:
        raise ToolError(f"old_text and new_text are the same for {shown}")
    if not count:
        raise ToolError(f"old_text does not occur in {shown}; read the file and copy it exactly")
    if count > 1 and not edit.get("replace_all", False):
        raise ToolError(
            f"old_text occurs {count} times in {shown}; give more of the text around it, or "
            "set replace_all"
        )
    return text.replace(old, new)


class ApplyPatch(_Writer):
    name = "apply_patch"
    description = (
        "Changes, adds, removes and renames files of the workspace by a patch, all of it or "
        "nothing: a unified diff, or *** Begin Patch, then for each file *** Update File: PATH "
        "(with *** Move to: PATH and hunks of lines that begin with @@, space, - and +), "
        "*** Add File: PATH (lines with +) or *** Delete File: PATH, then *** End Patch."
    )
    parameters = object_schema(
        {"patch": {"type": "string", "minLength": 1, "maxLength": PATCH_CHARS_MAX}},
        required=["patch"],
    )

    def paths(self, arguments: Json) -> Sequence[str]:
        try:
            return [path for one in parsed(arguments["patch"]) for path in one.paths]
        except ToolError:
            return [""]

    def touches(self, arguments: Json) -> Touches:
        touched = [self._paths.touched(path) for path in self.paths(arguments)]
        return Touches(writes=tuple(name for names in touched for name in names))

    def _planned(self, arguments: Json) -> list[_Rewrite]:
        planned = [one for patch in parsed(arguments["patch"]) for one in self._of_file(patch)]
        places = {one.path for one in planned}
        if len(places) < len(planned):
            raise ToolError("the patch changes a file twice, under two names; nothing was changed")
        return planned

    def _of_file(self, patch: FilePatch) -> list[_Rewrite]:
        path = self._paths.writable(patch.path)
        shown = self._paths.shown(path)
        if patch.kind == "add":
            self._must_be_free(path, shown)
            return [_Rewrite(path=path, shown=shown, before=None, after=created(patch))]
        before = read_text(path, shown)
        if patch.kind == "delete":
            return [_Rewrite(path=path, shown=shown, before=before, after=None)]
        after = updated(patch, before)
        if not patch.moved_to:
            return [_Rewrite(path=path, shown=shown, before=before, after=after)]
        target = self._paths.writable(patch.moved_to)
        self._must_be_free(target, self._paths.shown(target))
        moved = _Rewrite(path=target, shown=self._paths.shown(target), before=None, after=after)
        return [moved, _Rewrite(path=path, shown=shown, before=before, after=None)]

    def _must_be_free(self, path: Path, shown: str) -> None:
        if is_there(path):
            raise ToolError(f"there is a file {shown} already; nothing was changed")

    def _said(self, rewrites: Sequence[_Rewrite], arguments: Json) -> str:
        return "\n".join(f"{_what(one)} {one.shown}" for one in rewrites)


def _what(rewrite: _Rewrite) -> str:
    if rewrite.before is None:
        return "Created"
    return "Removed" if rewrite.after is None else "Changed"
