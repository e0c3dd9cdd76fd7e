"""`list_files` and `search_files`: what is in the workspace."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.process.programs import run_process
from trunkline.execution.tools.base import Json, Tool, ToolResult, ToolRun, object_schema
from trunkline.execution.tools.excerpt import Excerpt, shortened
from trunkline.execution.tools.paths import Paths

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
        if len(found) == limits.LIST_ENTRIES_MAX:
            return found, True
        found.append(line)
    return found, False


def _entries(folder: Path, prefix: str, recursive: bool) -> Iterator[str]:
    """Lines in order; links are shown and not followed, so that none leads out or round."""
    try:
        with os.scandir(folder) as scanned:
            some = list(islice(scanned, limits.LIST_SCAN_ENTRIES_MAX))
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

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        if any(char in arguments["query"] + arguments.get("files", "") for char in "\0\n\r"):
            raise ToolError("a query is one line of text")
        place = self._paths.readable(arguments.get("path", "."))
        if not place.exists():
            raise ToolError(f"there is no {self._paths.shown(place)}")
        output = Excerpt(limits.SEARCH_OUTPUT_BYTES_MAX, head_only=True)
        finished = await run_process(
            _grep(arguments, self._paths.shown(place)),
            cwd=run.workspace,
            env=self._env,
            timeout_s=limits.COMMAND_TIMEOUT_S,
            take=output.add,
            output_bytes_max=limits.SEARCH_OUTPUT_BYTES_MAX,
        )
        lines = str(output).splitlines()
        if finished.exit_code > 1 and (not lines or lines[0].startswith("grep:")):
            reason = lines[0] if lines else f"grep ended with exit code {finished.exit_code}"
            raise ToolError(shortened(reason, limits.TOOL_ERROR_CHARS_MAX))
        shown = [shortened(line, limits.SEARCH_LINE_CHARS_MAX) for line in lines]
        more = finished.flooded or finished.timed_out or len(shown) > limits.SEARCH_MATCHES_MAX
        text = "\n".join(shown[: limits.SEARCH_MATCHES_MAX]) or "(nothing found)"
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
