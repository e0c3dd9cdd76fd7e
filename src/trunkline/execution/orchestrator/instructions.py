"""What a project wants agents to know: `AGENTS.md`, or `CLAUDE.md` in a folder that has none.

Those from the project's top folder down to where the session works are part of its system prompt,
as they were when it began. Those further down are told with the first tool that is used below them,
changes with the next message. What was told is noted in the session's folder.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from trunkline.execution.beneath import open_beneath
from trunkline.execution.files import load_json, save_json
from trunkline.execution.texts import readable

INSTRUCTIONS_CHARS_MAX = 32_768  # of one file
INSTRUCTIONS_ALL_CHARS_MAX = 65_536  # of all that one session is told
FOLDERS_MAX = 32  # from the top folder down, or below where the session works

_NAMES = ("AGENTS.md", "CLAUDE.md")
_FILE = "instructions.json"
_INTRODUCED = (
    "# Instructions of the project\n"
    "How to work here, from files of your working folder and of the folders above it, the most"
    " special last. What the user says comes first."
)


class _Text(msgspec.Struct):
    path: str
    text: str


class _Told(msgspec.Struct):
    """As `instructions.json` has it. `digests`: by path, of what the model knows last."""

    first: list[_Text] = []
    digests: dict[str, str] = {}
    chars: int = 0


class Instructions:
    """Of one session. `folder` is the session's own; `roots` are those that the machine allows,
    above which no project begins."""

    def __init__(self, workspace: Path, folder: Path, roots: Sequence[Path] = ()) -> None:
        self._place = workspace.resolve()
        self._top = _top(self._place, [root.resolve() for root in roots])
        self._file = folder / _FILE
        found = load_json(self._file, _Told, "a session's instructions")
        self._told = found or _Told()
        if found is None:
            self._told.first = [text for one in self._chain() if (text := self._new(one))]
            if self._told.first:
                self._save()

    def prompt(self) -> str:
        """The same for the whole life of a session."""
        if not self._told.first:
            return ""
        return "\n\n".join([_INTRODUCED, *map(_shown, self._told.first)])

    def news(self) -> str:
        """What has changed since it was told, for the next message; empty: nothing."""
        news: list[str] = []
        for path in list(self._told.digests):
            text = self._read(path)
            if text is None:
                del self._told.digests[path]
                news.append(f"The instructions in {self._seen(path)} are gone.")
            elif self._told.digests[path] != _digest(text):
                news.append(f"These instructions have changed:\n{_shown(self._noted(path, text))}")
        news += [_shown(new) for one in self._chain() if (new := self._new(one))]
        if news:
            self._save()
        return "\n\n".join(news)

    def below(self, paths: Sequence[str]) -> str:
        """What was not told yet of the folders of these files, which an agent begins to use."""
        found = [text for one in self._folders(paths) if (text := self._new(one))]
        if found:
            self._save()
        return "\n\n".join(map(_shown, found))

    def _chain(self) -> Iterator[Path]:
        """From the top folder down to where the session works."""
        between = self._place.relative_to(self._top).parts
        yield self._top
        for count in range(len(between)):
            yield self._top.joinpath(*between[: count + 1])

    def _folders(self, paths: Sequence[str]) -> Iterator[Path]:
        """Below the session's folder, down to each file or folder itself."""
        for path in paths:
            try:
                parts = (self._place / path).resolve().relative_to(self._place).parts
            except (OSError, RuntimeError, ValueError):
                continue
            for count in range(min(len(parts), FOLDERS_MAX)):
                yield self._place.joinpath(*parts[: count + 1])

    def _new(self, folder: Path) -> _Text | None:
        """The folder's own, if nobody has told it yet and there is room for it."""
        for name in _NAMES:
            path = str((folder / name).relative_to(self._top))
            if path in self._told.digests:
                return None
            if (text := self._read(path)) is not None:
                return self._noted(path, text)
        return None

    def _noted(self, path: str, text: str) -> _Text:
        self._told.digests[path] = _digest(text)
        room = max(0, INSTRUCTIONS_ALL_CHARS_MAX - self._told.chars)
        kept = text[: min(room, INSTRUCTIONS_CHARS_MAX)]
        self._told.chars += len(kept)
        if len(kept) < len(text):
            kept += f"\n[… {len(text) - len(kept)} more characters are in the file …]"
        return _Text(self._seen(path), kept)

    def _seen(self, path: str) -> str:
        """As the session's tools take it."""
        return os.path.relpath(self._top / path, self._place)

    def _read(self, path: str) -> str | None:
        """None where there is no such file in the project; a link that leads out is none."""
        try:
            handle, _ = open_beneath(self._top, path)
        except FileNotFoundError:
            return None
        with os.fdopen(handle, "rb") as file:
            data = file.read(4 * INSTRUCTIONS_CHARS_MAX)
        text = readable(data.decode(errors="replace")).strip()
        return text or None

    def _save(self) -> None:
        save_json(self._file, self._told, "a session's instructions")


def _top(place: Path, roots: Sequence[Path]) -> Path:
    """The repository's top folder, if it is below a folder that the machine allows."""
    for folder in (place, *place.parents[:FOLDERS_MAX]):
        if folder != place and not any(folder.is_relative_to(root) for root in roots):
            break
        if (folder / ".git").exists():
            return folder
    return place


def _shown(one: _Text) -> str:
    return f"<instructions file={one.path!r}>\n{one.text}\n</instructions>"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
