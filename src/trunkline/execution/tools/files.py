"""The tools for files: `read_file`, `write_file`, `edit_file`, `list_files`, `search_files`."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import LockBusy, ToolError
from trunkline.execution.files import locked
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import run_process
from trunkline.execution.texts import Excerpt, shortened
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema
from trunkline.execution.tools.text_files import Paths, read_text, write_text

FILE_READ_CHARS_MAX = 100_000  # shown of a file at once
FILE_READ_LINES = 2_000
LIST_ENTRIES_MAX = 1_000
LIST_SCAN_ENTRIES_MAX = 50_000
SEARCH_MATCHES_MAX = 200
SEARCH_LINE_CHARS_MAX = 300
SEARCH_OUTPUT_BYTES_MAX = 4 * limits.MIB

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

    def touches(self, arguments: Json) -> Touches:
        return Touches(reads=self._paths.touched(arguments["path"]))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        path = self._paths.readable(arguments["path"])
        text = await asyncio.to_thread(read_text, path, self._paths.shown(path))
        first = arguments.get("offset", 1)
        lines = text.splitlines(keepends=True)
        if first > max(len(lines), 1):
            raise ToolError(f"the file has {len(lines)} lines")
        wanted = lines[first - 1 : first - 1 + arguments.get("limit", FILE_READ_LINES)]
        shown = Excerpt(FILE_READ_CHARS_MAX, head_only=True)
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

    def touches(self, arguments: Json) -> Touches:
        return Touches(writes=self._paths.touched(arguments["path"]))

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


# Large, and never what somebody looks for.
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_FOLDER: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": limits.FILE_PATH_CHARS_MAX,
    "description": "A folder of the workspace; the workspace itself unless set.",
}


class ListFiles(Tool):
    name = "list_files"
    description = "Lists a folder of the workspace or of a skill; folders end in a slash."
    parameters = object_schema(
        {"path": _FOLDER, "recursive": {"type": "boolean"}},
    )

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def touches(self, arguments: Json) -> Touches:
        return Touches(reads=self._paths.touched(arguments.get("path", ".")))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        folder = self._paths.readable(arguments.get("path", "."))
        if not folder.is_dir():
            raise ToolError(f"there is no folder {self._paths.shown(folder)}")
        found, more = await asyncio.to_thread(_listed, folder, arguments.get("recursive", False))
        text = "\n".join(found) or "(the folder is empty)"
        if more:
            text += f"\n[… and more; the first {len(found)} are shown]"
        return ToolResult(content=text, details={"entries": len(found), "more": more})


def _listed(folder: Path, recursive: bool) -> tuple[list[str], bool]:
    found: list[str] = []
    for line in _entries(folder, "", recursive):
        if len(found) == LIST_ENTRIES_MAX:
            return found, True
        found.append(line)
    return found, False


def _entries(folder: Path, prefix: str, recursive: bool) -> Iterator[str]:
    """Lines in order; links are shown and not followed, so that none leads out or round."""
    try:
        with os.scandir(folder) as scanned:
            some = list(islice(scanned, LIST_SCAN_ENTRIES_MAX))
    except OSError as error:
        yield f"{prefix} (cannot be read: {error.strerror})"
        return
    for entry in sorted(some, key=lambda entry: entry.name):
        name = prefix + _printable(entry.name)
        if entry.is_symlink():
            yield f"{name} (link)"
        elif not entry.is_dir(follow_symlinks=False):
            yield f"{name} ({_size(entry)} bytes)"
        else:
            yield f"{name}/"
            if recursive and entry.name not in _SKIPPED:
                yield from _entries(Path(entry.path), f"{name}/", recursive)


def _printable(name: str) -> str:
    """File names are bytes: some are no text, and some hold line ends."""
    text = name.encode(errors="surrogateescape").decode(errors="replace")
    return text if text.isprintable() else ascii(text)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


class SearchFiles(Tool):
    """By grep: fast, without backtracking, and ended like any other program."""

    name = "search_files"
    description = (
        "Finds lines in the text files of the workspace. `query` is plain text unless `regex` is "
        "true (extended, as in grep -E); `files` chooses by name, such as *.py."
    )
    parameters = object_schema(
        {
            "query": {"type": "string", "minLength": 1, "maxLength": limits.FILE_PATH_CHARS_MAX},
            "path": _FOLDER,
            "files": {"type": "string", "minLength": 1, "maxLength": 200},
            "regex": {"type": "boolean"},
            "ignore_case": {"type": "boolean"},
        },
        required=["query"],
    )

    def __init__(self, paths: Paths, env: Mapping[str, str]) -> None:
        self._paths = paths
        self._env = {**env, "LC_ALL": "C.UTF-8"}

    def touches(self, arguments: Json) -> Touches:
        return Touches(reads=self._paths.touched(arguments.get("path", ".")))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        if any(char in arguments["query"] + arguments.get("files", "") for char in "\0\n\r"):
            raise ToolError("a query is one line of text")
        place = self._paths.readable(arguments.get("path", "."))
        if not place.exists():
            raise ToolError(f"there is no {self._paths.shown(place)}")
        output = Excerpt(SEARCH_OUTPUT_BYTES_MAX, head_only=True)
        finished = await run_process(
            _grep(arguments, self._paths.shown(place)),
            cwd=run.workspace,
            env=self._env,
            timeout_s=limits.COMMAND_TIMEOUT_S,
            take=output.add,
            output_bytes_max=SEARCH_OUTPUT_BYTES_MAX,
        )
        lines = str(output).splitlines()
        if finished.exit_code > 1 and (not lines or lines[0].startswith("grep:")):
            reason = lines[0] if lines else f"grep ended with exit code {finished.exit_code}"
            raise ToolError(shortened(reason, limits.TOOL_ERROR_CHARS_MAX))
        shown = [shortened(line, SEARCH_LINE_CHARS_MAX) for line in lines]
        more = finished.flooded or finished.timed_out or len(shown) > SEARCH_MATCHES_MAX
        text = "\n".join(shown[:SEARCH_MATCHES_MAX]) or "(nothing found)"
        if more:
            text += "\n[… there is more; search for something narrower]"
        return ToolResult(content=text, details={"matches": len(shown), "more": more})


def _grep(arguments: Json, place: str) -> list[str]:
    argv = ["grep", "-r", "-n", "-H", "-I", "-s"]
    argv.append("-E" if arguments.get("regex", False) else "-F")
    if arguments.get("ignore_case", False):
        argv.append("-i")
    argv += [f"--exclude-dir={name}" for name in sorted(_SKIPPED)]
    if files := arguments.get("files"):
        argv.append(f"--include={files}")
    argv += ["-e", arguments["query"]]
    # Without a place, grep takes the folder it is in and shows plain names.
    return argv if place == "." else [*argv, "--", place]
