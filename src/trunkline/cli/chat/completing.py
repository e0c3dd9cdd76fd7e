"""Completion at the prompt: commands behind a slash, persons and files behind an @."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from trunkline.cli.chat.slash_names import COMMANDS
from trunkline.cli.output import plain

_FILES_MAX = 50
_SCANNED_MAX = 2000


class Names(Completer):
    """What can be named, as far as it is known by now."""

    def __init__(self) -> None:
        self.persons: list[str] = []
        self.files: list[str] = []
        """That the session made or changed, as it names them."""
        self.folder: Path | None = None
        """Where it works, if that is a folder of this computer."""
        self.arguments: dict[str, list[str]] = {}
        """What may stand behind a command."""
        self.runtime: dict[str, str] = {}
        """Commands of the runtime, with what they do."""

    def take(self, data: dict[str, Any]) -> None:
        """The runtime says which commands it has."""
        commands = data.get("commands")
        if data.get("type") != "session_status" or not isinstance(commands, list):
            return
        self.runtime = {
            one["name"]: str(one.get("description") or "")
            for one in commands
            if isinstance(one, dict) and isinstance(one.get("name"), str) and one["name"]
        }

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        word = text.rpartition(" ")[2].rpartition("\n")[2]
        if text.startswith("/") and " " not in text and "\n" not in text:
            known = {**self.runtime, **{name: one.about for name, one in COMMANDS.items()}}
            for name in sorted(known):
                if name.startswith(text[1:]):
                    about = plain(known[name])[:60]
                    yield Completion("/" + name, -len(text), plain("/" + name), about)
        elif text.startswith("/") and text.count(" ") == 1:
            for one in self.arguments.get(text[1:].partition(" ")[0], ()):
                if one.startswith(word):
                    yield Completion(one, -len(word), plain(one))
        elif word.startswith("@"):
            for name in self._behind_at(word[1:]):
                yield Completion("@" + name, -len(word), plain("@" + name))

    def _behind_at(self, begun: str) -> Iterable[str]:
        yield from (name for name in self.persons if name.casefold().startswith(begun.casefold()))
        found = [name for name in self.files if name.startswith(begun)]
        found += self._local(begun)
        yield from sorted(dict.fromkeys(found))[:_FILES_MAX]

    def _local(self, begun: str) -> list[str]:
        """Files and folders of the session's folder, one level at a time."""
        if self.folder is None or begun.startswith(("/", "~")):
            return []
        above, _, part = begun.rpartition("/")
        found = []
        try:
            with os.scandir(self.folder / above) as entries:
                for _, entry in zip(range(_SCANNED_MAX), entries, strict=False):
                    if entry.name.startswith(part) and (part or not entry.name.startswith(".")):
                        name = f"{above}/{entry.name}" if above else entry.name
                        found.append(name + ("/" if entry.is_dir() else ""))
        except (OSError, ValueError):
            return []
        return found
