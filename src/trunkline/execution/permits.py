"""What rules and modes mean on this machine: a session's rules, and a call as they see it. The same
for every runtime."""

import os
import shlex
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from yarl import URL

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.orchestrator.settings import Settings
from trunkline.permissions import subjects
from trunkline.permissions.decision import decide, guarded
from trunkline.permissions.judging import told
from trunkline.permissions.modes import Confirm, asks_at_least, care_of
from trunkline.permissions.names import names_of
from trunkline.permissions.programs import programs_of
from trunkline.permissions.reading import shows_unnamed
from trunkline.permissions.rules import Rule, names_match, read, read_all
from trunkline.permissions.shell import parse
from trunkline.permissions.subjects import Call, Subject

_WORDS_MAX = 500  # of a command, taken as names of files
_PATHS = ("path", "file_path", "notebook_path")


class Permits:
    """A session's rules, for all its agents; `fenced`: whether its programs are confined, and
    `fence` how, in words."""

    def __init__(
        self,
        rules: Any = (),
        problems: list[str] | None = None,
        *,
        fenced: bool = False,
        fence: str = "",
    ) -> None:
        self.rules: list[Rule] = []
        self.fenced = fenced
        self.fence = fence
        self.granted: set[str] = set()
        """Digests of calls of a hosted program that a person has allowed for the session."""
        self.outside: dict[str, None] = {}
        """The tools that brought in what did not come from the session's user, in this process;
        the checkpoint has those of before."""
        for problem in self.change(rules):
            (problems if problems is not None else []).append(problem)

    def asks(self, settings: Settings) -> Confirm:
        """What a program of others is told to ask about, so that rules and mode can hold."""
        care = care_of(settings.mode, settings.confirm, fenced=self.fenced)
        return asks_at_least(care, ruled=any(rule.effect != "allow" for rule in self.rules))

    def hides(self, path: str, workspace: Path) -> bool:
        """Whether a file's content is not to be shown by what looks through many."""
        call = call_of("read_file", {"path": path}, workspace)
        return guarded(self.rules, call) is not None

    def guards_page(self, url: str, workspace: Path) -> str:
        """Why rules keep a page from being fetched without a word; empty where none does."""
        decided = decide(self.rules, call_of("web_fetch", {"url": url}, workspace))
        return "" if decided is None or decided.effect == "allow" else told(decided)

    @property
    def guards_reading(self) -> bool:
        return any(
            one.effect != "allow" and names_match(one.tool, ("read_file",)) for one in self.rules
        )

    def allow(self, text: str) -> None:
        """A rule that a person has just made: it comes with the others, and may be taken back."""
        self.rules = [*self.rules, read("allow", text)]

    def change(self, rules: Any) -> list[str]:
        """Other rules hold from now on; what is wrong with them."""
        problems: list[str] = []
        if not isinstance(rules, list | tuple):
            return ["The rules are no list: those of before hold."]
        self.rules = read_all(rules, problems)
        return problems


def call_of(
    tool: str, arguments: Json, workspace: Path, paths: Iterable[str] | None = None
) -> Call:
    """`paths`: those that it touches, where its arguments do not say so by name."""
    names = names_of(tool)
    if "bash" in names:
        return Call(names, (_command(arguments.get("command")),))
    if "web_fetch" in names:
        return Call(names, (_host(arguments.get("url")),))
    if "edit_file" in names or "read_file" in names:
        if paths is None:
            given = [arguments[name] for name in _PATHS if name in arguments]
            paths = [one if isinstance(one, str) else "" for one in given] or [
                "" if "edit_file" in names else "."
            ]
        return Call(names, tuple(_path(one, workspace) for one in paths))
    return Call(names)


def read_by(command: str, workspace: Path, *, is_all: bool) -> Call:
    """Reading the files that a command names; `is_all`: what it reads besides is told as unknown,
    for it does nothing else than read."""
    words = {
        name: None
        for part in parse(command) or ()
        for word in (*part.texts, *part.reads)
        for name in (word, word.partition("=")[2])
        if name
    }
    words |= {name: None for one in programs_of(command).seen for name in one}
    found = [_below(one, workspace) for one in islice(words, _WORDS_MAX)]
    is_more = len(words) > _WORDS_MAX or (is_all and shows_unnamed(command))
    return Call(("read_file",), (*found, *([Subject("path", None)] if is_more else [])))


def _below(text: str, workspace: Path) -> Subject:
    """A word as a file, or as a folder with all that is in it; most are neither."""
    found = _path(text, workspace)
    if found.value is None:
        return Subject("path", "")
    inside = f"{found.value}/" if found.value != "." else ""
    return Subject("path", found.value, (*found.also, inside))


def _path(text: str, workspace: Path) -> Subject:
    """Where it leads, links followed."""
    if not text or len(text) > limits.FILE_PATH_CHARS_MAX or "\0" in text:
        return Subject("path", None)
    try:
        root, path = workspace.resolve(), (workspace / text).resolve()
    except (OSError, RuntimeError, ValueError):
        return Subject("path", None)
    written = os.path.normpath(text)
    inside = path.is_relative_to(root)
    return Subject(
        "path", path.relative_to(root).as_posix() if inside else str(path), (str(path), written)
    )


def _command(given: Any) -> Subject:
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        given = shlex.join(given)
    return Subject("command", given if isinstance(given, str) else None)


def _host(url: Any) -> Subject:
    """Read by what will fetch it."""
    try:
        found = URL(str(url).strip())
    except ValueError:
        return Subject("domain", None)
    return Subject("domain", None) if found.user is not None else subjects.host(found.host)
