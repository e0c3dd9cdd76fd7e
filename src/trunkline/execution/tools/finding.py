"""The tools that find files: `list_files`, `glob`, `search_files`."""

import fnmatch
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from trunkline import limits
from trunkline.execution.errors import ToolError
from trunkline.execution.json_object import Json
from trunkline.execution.process.programs import children, run_process
from trunkline.execution.texts import Excerpt, shortened
from trunkline.execution.tools.base import Tool, ToolResult, ToolRun, Touches, object_schema
from trunkline.execution.tools.text_files import Paths

LIST_ENTRIES_MAX = 1_000
LIST_SCAN_ENTRIES_MAX = 50_000
GLOB_SCAN_ENTRIES_MAX = 200_000
SEARCH_MATCHES_MAX = 200
SEARCH_LINE_CHARS_MAX = 300
SEARCH_OUTPUT_BYTES_MAX = 4 * limits.MIB

# Large, and never what somebody looks for.
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_ALTERNATIVES_MAX = 64  # of a pattern with braces
_BRACES = re.compile(r"\{([^{}]*)\}")
_FOLDER: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": limits.FILE_PATH_CHARS_MAX,
    "description": "A folder of the workspace; the workspace itself unless set.",
}


class _OfFolder(Tool):
    """What looks into one folder, the workspace unless `path` names another."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def touches(self, arguments: Json) -> Touches:
        return Touches(reads=self._paths.touched(arguments.get("path", ".")))

    def _folder(self, arguments: Json) -> Path:
        folder = self._paths.readable(arguments.get("path", "."))
        if not folder.is_dir():
            raise ToolError(f"there is no folder {self._paths.shown(folder)}")
        return folder


class ListFiles(_OfFolder):
    name = "list_files"
    description = "Lists a folder of the workspace or of a skill; folders end in a slash."
    parameters = object_schema(
        {"path": _FOLDER, "recursive": {"type": "boolean"}},
    )

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        folder = self._folder(arguments)
        found, more = await children.call(_listed, folder, arguments.get("recursive", False))
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


class Glob(_OfFolder):
    name = "glob"
    description = (
        "Finds files by their path: * stands for any part of a name, ** for any folders, ? for one "
        "character, {a,b} for either, as in src/**/*.{ts,tsx}. A pattern without a slash finds "
        "names in every folder. The files changed last come first."
    )
    parameters = object_schema(
        {"pattern": {"type": "string", "minLength": 1, "maxLength": 500}, "path": _FOLDER},
        required=["pattern"],
    )

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        folder = self._folder(arguments)
        wanted = glob_parts(arguments["pattern"])
        found, more = await children.call(_matching, folder, wanted)
        prefix = "" if (shown := self._paths.shown(folder)) == "." else f"{shown}/"
        text = "\n".join(prefix + _printable(one) for one in found) or "(nothing found)"
        if more:
            text += "\n[… there may be more; use a narrower pattern]"
        return ToolResult(content=text, details={"entries": len(found), "more": more})


Wanted = list[re.Pattern[str] | None]
"""What the parts of a path have to match; None stands for any number of them."""


def glob_parts(pattern: str) -> list[Wanted]:
    """A pattern's alternatives. Raises ToolError for too many."""
    text = pattern.removeprefix("./").strip("/")
    if "/" not in text:
        text = f"**/{text}"
    return [
        [None if part == "**" else re.compile(fnmatch.translate(part)) for part in one.split("/")]
        for one in _alternatives(text)
    ]


def _alternatives(text: str) -> list[str]:
    found, finished = [text], list[str]()
    while found:
        one = found.pop()
        braces = _BRACES.search(one)
        if braces is None:
            finished.append(one)
        else:
            choices = braces[1].split(",")
            found += [one[: braces.start()] + choice + one[braces.end() :] for choice in choices]
        if len(found) + len(finished) > _ALTERNATIVES_MAX:
            raise ToolError(f"a pattern has at most {_ALTERNATIVES_MAX} alternatives")
    return finished


def fits(path: str, wanted: Wanted) -> bool:
    """In time proportional to both, whatever the pattern."""
    places = _with_skips({0}, wanted)
    for part in path.split("/"):
        places = _with_skips(
            {
                place if rule is None else place + 1
                for place in places
                if place < len(wanted)
                for rule in [wanted[place]]
                if rule is None or rule.match(part)
            },
            wanted,
        )
    return len(wanted) in places


def _with_skips(places: set[int], wanted: Wanted) -> set[int]:
    """Any number of parts may be none."""
    for place in range(min(places, default=0), len(wanted)):
        if place in places and wanted[place] is None:
            places.add(place + 1)
    return places


def _matching(folder: Path, wanted: list[Wanted]) -> tuple[list[str], bool]:
    """The newest first. Links are not followed, so that none leads out or round."""
    found: list[tuple[float, str]] = []
    scanned = 0
    folders = [(folder, "")]
    while folders:
        place, prefix = folders.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    scanned += 1
                    if scanned > GLOB_SCAN_ENTRIES_MAX:
                        return _newest(found), True
                    name = prefix + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED:
                            folders.append((Path(entry.path), f"{name}/"))
                    elif any(fits(name, one) for one in wanted):
                        found.append((_changed(entry), name))
        except OSError:
            continue
    return _newest(found), len(found) > LIST_ENTRIES_MAX


def _newest(found: list[tuple[float, str]]) -> list[str]:
    return [name for _, name in sorted(found, key=lambda one: (-one[0], one[1]))][:LIST_ENTRIES_MAX]


def _changed(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


class SearchFiles(Tool):
    """By ripgrep where it is installed, else by grep: fast, without backtracking, and ended like
    any other program. Both look at the same files."""

    name = "search_files"
    description = (
        "Finds lines in the text files of the workspace. `query` is plain text unless `regex` is "
        "true (as in grep -E); `files` chooses by name, such as *.py."
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
        self._ripgrep = shutil.which("rg", path=env.get("PATH"))

    def touches(self, arguments: Json) -> Touches:
        return Touches(reads=self._paths.touched(arguments.get("path", ".")))

    async def run(self, arguments: Json, run: ToolRun) -> ToolResult:
        if any(char in arguments["query"] + arguments.get("files", "") for char in "\0\n\r"):
            raise ToolError("a query is one line of text")
        place = self._paths.readable(arguments.get("path", "."))
        if not place.exists():
            raise ToolError(f"there is no {self._paths.shown(place)}")
        output = Excerpt(SEARCH_OUTPUT_BYTES_MAX, head_only=True)
        shown_place = self._paths.shown(place)
        argv = (
            _grep(arguments, shown_place)
            if self._ripgrep is None
            else _rg(self._ripgrep, arguments, shown_place)
        )
        finished = await run_process(
            argv,
            cwd=run.workspace,
            env=self._env,
            timeout_s=limits.COMMAND_TIMEOUT_S,
            take=output.add,
            output_bytes_max=SEARCH_OUTPUT_BYTES_MAX,
        )
        lines, hidden = _told(str(output), run.hides)
        if finished.exit_code > 1 and (not lines or lines[0].startswith(_COMPLAINTS)):
            reason = (
                " ".join(lines[:4]) if lines else f"it ended with exit code {finished.exit_code}"
            )
            raise ToolError(shortened(reason, limits.TOOL_ERROR_CHARS_MAX))
        shown = [shortened(line, SEARCH_LINE_CHARS_MAX) for line in lines]
        more = finished.flooded or finished.timed_out or len(shown) > SEARCH_MATCHES_MAX
        text = "\n".join(shown[:SEARCH_MATCHES_MAX]) or "(nothing found)"
        if more:
            text += "\n[… there is more; search for something narrower]"
        if hidden:
            text += "\n[files that a rule keeps from being read are left out]"
        return ToolResult(content=text, details={"matches": len(shown), "more": more})


def _told(output: str, hides: Callable[[str], bool]) -> tuple[list[str], bool]:
    """The lines, but for those of hidden files; whether there were such. A NUL is behind each
    file's name."""
    lines: list[str] = []
    known: dict[str, bool] = {}
    for line in filter(None, output.split("\n")):
        name, nul, rest = line.partition("\0")
        if nul and name not in known:
            known[name] = hides(name)
        if nul and known[name]:
            continue
        lines.append(f"{name}:{rest}" if nul else line)
    return lines, any(known.values())


_COMPLAINTS = ("grep:", "rg:")


def _rg(program: str, arguments: Json, place: str) -> list[str]:
    argv = [program, "--no-config", "--no-ignore", "--hidden", "--no-messages", "--color=never"]
    argv += ["--line-number", "--with-filename", "--null", "--no-heading", "--sort=path"]
    if not arguments.get("regex", False):
        argv.append("--fixed-strings")
    if arguments.get("ignore_case", False):
        argv.append("--ignore-case")
    if files := arguments.get("files"):
        argv.append("--glob=" + (f"\\{files}" if files.startswith("!") else files))
    argv += [f"--glob=!**/{name}/**" for name in sorted(_SKIPPED)]
    argv += ["-e", arguments["query"]]
    return argv if place == "." else [*argv, "--", place]


def _grep(arguments: Json, place: str) -> list[str]:
    argv = ["grep", "-r", "-n", "-H", "-Z", "-I", "-s"]
    argv.append("-E" if arguments.get("regex", False) else "-F")
    if arguments.get("ignore_case", False):
        argv.append("-i")
    argv += [f"--exclude-dir={name}" for name in sorted(_SKIPPED)]
    if files := arguments.get("files"):
        argv.append(f"--include={files}")
    argv += ["-e", arguments["query"]]
    # Without a place, grep takes the folder it is in and shows plain names.
    return argv if place == "." else [*argv, "--", place]
