"""`read_file`, `write_file`, `edit_file`: text files of the workspace, shared by all sessions."""

import asyncio
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import LockBusy, ToolError
from trunkline.execution.files import locked
from trunkline.execution.home import Home
from trunkline.execution.tools.base import Json, Tool, ToolResult, ToolRun, object_schema
from trunkline.execution.tools.excerpt import Excerpt
from trunkline.execution.tools.paths import Paths
from trunkline.execution.tools.text_file import read_text, write_text

_PATH: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": limits.FILE_PATH_CHARS_MAX,
    "description": "Relative to the workspace.",
}


class ReadFile(Tool):
    name = "read_file"
    description = (
        "Reads a text file of the workspace or of a skill. Long files come in parts: `offset` is "
        "the first line wanted, from 1, and `limit` the number of lines."
    )
    parameters = object_schema(
        {
            "path": _PATH,
            "offset": {"type": "integer", "minimum": 1},
            "limit": {"type": "integer", "minimum": 1},
        },
        required=["path"],
    )

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        path = self._paths.readable(arguments["path"])
        text = await asyncio.to_thread(read_text, path, self._paths.shown(path))
        first = arguments.get("offset", 1)
        lines = text.splitlines(keepends=True)
        if first > max(len(lines), 1):
            raise ToolError(f"the file has {len(lines)} lines")
        wanted = lines[first - 1 : first - 1 + arguments.get("limit", limits.FILE_READ_LINES)]
        shown = Excerpt(limits.FILE_READ_CHARS_MAX, head_only=True)
        shown.add("".join(wanted))
        content = str(shown) or "(the file is empty)"
        last = first - 1 + len(wanted)
        if last < len(lines):
            content += f"\n[lines {first} to {last} of {len(lines)}]"
        return ToolResult(
            content=content, details={"lines": len(lines), "output_cut_chars": shown.cut_chars}
        )


class _Writer(Tool):
    """What changes files does so one after the other, over all sessions: no edit gets lost."""

    def __init__(self, paths: Paths, home: Home) -> None:
        self._paths = paths
        self._lock = home.run / "files.lock"

    def is_dangerous(self, arguments: Json) -> bool:
        return True

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        path = self._paths.writable(arguments["path"])
        try:
            async with locked(self._lock):
                return await self._change(path, self._paths.shown(path), arguments, run)
        except LockBusy as error:
            raise ToolError("another session is writing files and does not finish") from error

    async def _change(self, path: Path, shown: str, arguments: Json, run: ToolRun) -> ToolResult:
        raise NotImplementedError


class WriteFile(_Writer):
    name = "write_file"
    description = "Writes a text file of the workspace, in place of what is there."
    parameters = object_schema(
        {"path": _PATH, "content": {"type": "string"}},
        required=["path", "content"],
    )

    async def _change(self, path: Path, shown: str, arguments: Json, run: ToolRun) -> ToolResult:
        text = arguments["content"]
        is_new = await asyncio.to_thread(write_text, path, text, shown)
        size = len(text.encode())
        if is_new:
            run.event({"type": "file_created", "path": shown, "size": size})
        did = "Created" if is_new else "Wrote"
        return ToolResult(content=f"{did} {shown} ({size} bytes).", details={"path": shown})


class EditFile(_Writer):
    name = "edit_file"
    description = (
        "Replaces a piece of text in a file of the workspace. `old_text` must be exactly what the "
        "file has, spaces and line ends included, and occur once, unless `replace_all` is true."
    )
    parameters = object_schema(
        {
            "path": _PATH,
            "old_text": {"type": "string", "minLength": 1},
            "new_text": {"type": "string"},
            "replace_all": {"type": "boolean"},
        },
        required=["path", "old_text", "new_text"],
    )

    async def _change(self, path: Path, shown: str, arguments: Json, run: ToolRun) -> ToolResult:
        old, new = arguments["old_text"], arguments["new_text"]
        text = await asyncio.to_thread(read_text, path, shown)
        count = text.count(old)
        if old == new:
            raise ToolError("old_text and new_text are the same")
        if not count:
            raise ToolError(
                f"old_text does not occur in {shown}; read the file and copy it exactly"
            )
        if count > 1 and not arguments.get("replace_all", False):
            raise ToolError(
                f"old_text occurs {count} times in {shown}; give more of the text around it, or "
                "set replace_all"
            )
        await asyncio.to_thread(write_text, path, text.replace(old, new), shown)
        places = "1 place" if count == 1 else f"{count} places"
        return ToolResult(content=f"Changed {shown} in {places}.", details={"path": shown})
