"""The fenced blocks of a page, and what their info strings say: docs/contributing/manual.md."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from manual.staging import REPOSITORY, sources

RUN = ("console", "sh", "bash", "python", "javascript")
PARSED = ("json", "jsonl", "toml", "yaml")
SHOWN = ("text", "ini", "nginx", "caddy", "")
OPTIONS = (
    *("no-run", "server", "exit", "prints", "file", "as"),
    *("until", "typed", "elsewhere", "stdin", "needs"),
)

_OPEN = re.compile(r"^( *)(`{3,})([^`]*)$")


class Block(NamedTuple):
    page: str
    line: int
    language: str
    options: dict[str, str]
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        left = self.options.keys() & {"no-run", "server"}
        return not left and (self.language in RUN or "file" in self.options)


class Command(NamedTuple):
    text: str
    printed: str | None
    """What stands below it; None when nothing does, and so nothing is said about it."""


def pages() -> dict[str, Path]:
    """Those with examples that are run: every English one, and those at the root."""
    found = {path.relative_to(REPOSITORY.root).as_posix(): path for path in sources("en").values()}
    found["README.md"] = REPOSITORY.root / "README.md"
    del found["docs/protocols/coverage.md"]
    return dict(sorted(found.items()))


def blocks(text: str, page: str) -> list[Block]:
    found: list[Block] = []
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opened = _OPEN.match(lines[number])
        number += 1
        if not opened:
            continue
        start, body = number, []
        indent, marks = len(opened[1]), opened[2]
        while number < len(lines) and lines[number].strip() != marks:
            body.append(
                lines[number][indent:]
                if lines[number][:indent].isspace() or not indent
                else lines[number]
            )
            number += 1
        number += 1
        language, options = _info(opened[3])
        found.append(Block(page, start, language, options, "\n".join(body) + "\n"))
    return found


def commands(block: Block) -> list[Command]:
    """Those of a `console` block."""
    found: list[tuple[str, list[str]]] = []
    is_open = False
    for line in block.text.splitlines():
        if is_open:
            command, printed = found.pop()
            found.append((f"{command}\n{line}", printed))
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
            continue
        elif line.strip():
            raise ValueError(f"{block.where}: output before the first command")
        is_open = _goes_on(found[-1][0]) if found else False
    return [Command(text, "\n".join(printed) if printed else None) for text, printed in found]


def _goes_on(command: str) -> bool:
    if command.endswith("\\"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False


def _info(words: str) -> tuple[str, dict[str, str]]:
    language, *options = shlex.split(words) or [""]
    return language, {
        name: value for name, _, value in (option.partition("=") for option in options)
    }
