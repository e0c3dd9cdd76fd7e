"""A call of a tool: a line while it runs, one when it is over, and all of it when unfolded."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from trunkline.cli.chat.render.code import highlighted
from trunkline.cli.chat.render.diff import Change, body, counts, edits_of, shown
from trunkline.cli.chat.render.layout import (
    Line,
    cells,
    clip,
    indented,
    more,
    safe,
    safe_lines,
    wrap,
)
from trunkline.cli.chat.render.turns import Moment
from trunkline.cli.chat.render.values import Data, count, mapping, number, text, word
from trunkline.cli.human import duration

_OUTPUT_CHARS_MAX = 20_000
_UNFOLDED_LINES_MAX = 400
_LIVE_LINES = 4
_FAILED_LINES = 3
_RESULT_CELLS_MAX = 60
_COMMANDS = frozenset(("bash", "shell", "execute", "run_command", "terminal", "run_shell_command"))
_ABOUT = (
    "command", "file_path", "path", "pattern", "query", "url", "skill", "task", "prompt",
    "description",
)  # fmt: skip
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_MARKS = {
    "failed": ("failed", "red"),
    "denied": ("not allowed", "yellow"),
    "stopped": ("stopped", "yellow"),
}


@dataclass
class Call:
    name: str
    given: Any
    who: Line
    turn: str
    began: Moment
    title: str = ""
    skill: str = ""
    agent: str = ""
    state: str = "running"
    is_plan: bool = False
    """It only wrote the plan, which is shown itself."""
    output: str = ""
    result: str = ""
    details: Data = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    seconds: float = 0.0

    def put_out(self, piece: str) -> None:
        self.output = (self.output + piece)[-_OUTPUT_CHARS_MAX:]

    def returned(self, data: Data) -> None:
        self.details = mapping(data.get("details"))
        if isinstance(given := data.get("tool_input", data.get("arguments")), dict | str):
            self.given = given or self.given
        self.title = word(data.get("title")) or self.title
        self.result = _as_shown(text(data.get("result")) or text(data.get("error")))
        # A command that fails is no error of the tool; who reads along wants to see it.
        is_late = self.details.get("timed_out") is True
        has_failed = is_late or count(self.details.get("exit_code")) != 0
        is_error = data.get("is_error") is True or data.get("success") is False or has_failed
        self.state = "denied" if data.get("denied") is True else "failed" if is_error else "done"

    def over(self, seconds: float) -> None:
        if self.state == "running":
            self.state = "stopped"
        self.seconds = seconds

    def live(self, mark: str, seconds: float, width: int) -> list[Line]:
        """While it runs: how long it has, and the end of what it puts out."""
        lines = [self._head(f"{mark} ", "cyan", [(f" · {duration(seconds)}", "dim")], width)]
        last = [line for line in _as_shown(self.output).split("\n") if line.strip()][-_LIVE_LINES:]
        return lines + [clip([("  ", ""), (safe(line), "dim")], width) for line in last]

    def folded(self, width: int) -> list[Line]:
        word_of, style = _MARKS.get(self.state, ("", "cyan"))
        after: Line = [(f" · {duration(self.seconds)}", "dim")]
        if self.agent:
            after.append((f" · {self.agent}", "dim"))
        if word_of:
            after.append((f" · {word_of}{self._exit()}", style))
        elif (told := self._told()) and self._columns() + cells([*after, (told, "")]) < width:
            after.append((f" · {told}", "dim"))
        changes = self.changes or (self._edits() if self.state == "done" else [])
        is_one = len(changes) == 1 and self._about() == safe(changes[0].path)
        lines = [self._head("▸ ", style, counts(changes[0]) + after if is_one else after, width)]
        lines += self._why(width)
        for change in changes:
            rows = (body if is_one else shown)(change, width - 2, is_whole=False)
            lines += indented(rows, ("  ", ""), ("  ", ""))
        return lines

    def _why(self, width: int) -> list[Line]:
        """What a call says that came to no good end: of a command the end, as that says why."""
        if self.state not in ("failed", "denied"):
            return []
        rows = [line for line in self.result.split("\n") if line.strip()]
        left = more(len(rows) - _FAILED_LINES) if len(rows) > _FAILED_LINES else None
        is_command = "exit_code" in self.details
        some = rows[-_FAILED_LINES:] if is_command else rows[:_FAILED_LINES]
        lines = [clip([("  ", ""), (safe(row), "dim")], width) for row in some]
        if left is not None:
            lines.insert(0 if is_command else len(lines), [("  ", ""), *left])
        return lines

    def unfolded(self, width: int) -> list[Line]:
        """What went in and what came out."""
        edits = self.changes or self._edits()
        given = [] if edits else self._input(width)
        took: Line = [(f" · {duration(self.seconds)}", "dim")]
        lines = [self._head("▾ ", "cyan", took, width, has_about=not given), *given]
        for change in edits:
            lines += shown(change, width, is_whole=True)
        if self.result or self.output:
            result = self.result or _as_shown(self.output)
            lines += [[(safe(line), "")] for line in result.rstrip("\n").split("\n")]
        elif not edits:
            lines.append([("no output", "dim")])
        if exit_code := self._exit():
            lines.append([(exit_code.strip(" ()"), "red")])
        if cut := count(self.details.get("output_cut_chars")):
            lines.append([(f"{cut} characters left out", "dim")])
        left = len(lines) - _UNFOLDED_LINES_MAX
        return lines if left <= 0 else [*lines[:-left], more(left)]

    def _columns(self) -> int:
        """Of its name and what it does."""
        return cells([*self.who, (f"▸ {safe(self.name)} {self._about()} · ", "")])

    def _head(
        self, mark: str, style: str, after: Line, width: int, *, has_about: bool = True
    ) -> Line:
        name = f"skill {self.skill}" if self.skill else self.name
        before: Line = [*self.who, (mark, style), (safe(name), style)]
        room = width - cells(before) - cells(after)
        said = self._about() if has_about else ""
        about = clip([(f" {said}", "")], room) if said and room > 0 else []
        return clip([*before, *about, *after], width)

    def _about(self) -> str:
        """One line that says what it does."""
        given = mapping(self.given)
        values = (*(given.get(name) for name in _ABOUT), *given.values())
        said = next(filter(None, map(word, values)), "")
        command = given.get("command", given.get("cmd"))
        if not said and isinstance(command, list):
            said = " ".join(map(str, command))
        elif not said:
            said = self.given if isinstance(self.given, str) else self.title
        first, *others = said.strip().split("\n")
        return safe(first + (" …" if others else ""))

    def _told(self) -> str:
        """What came out, in few words."""
        if self.changes or self._edits():
            return ""
        lines = self.result.strip("\n").split("\n")
        if len(lines) > 1:
            return f"{len(lines)} lines"
        only = safe(lines[0].strip())
        return only if cells([(only, "")]) <= _RESULT_CELLS_MAX else ""

    def _exit(self) -> str:
        code = number(self.details.get("exit_code"))
        if self.details.get("timed_out") is True:
            return " (timed out)"
        return f" (exit code {int(code)})" if code else ""

    def _edits(self) -> list[Change]:
        return edits_of(self.name, mapping(self.given), self.details)

    def _input(self, width: int) -> list[Line]:
        given = mapping(self.given)
        command = given.get("command", given.get("cmd"))
        if self.name.lower() in _COMMANDS and isinstance(command, str):
            return indented(highlighted(command, "bash"), ("$ ", "dim"))
        if self.given in (None, "", {}):
            return []
        if isinstance(self.given, str):
            return wrap([(safe_lines(self.given), "dim")], width)
        return highlighted(json.dumps(self.given, ensure_ascii=False, indent=2), "json")


def _as_shown(output: str) -> str:
    """As a terminal would leave it: without colours, a line that is written over only once."""
    plain = _ESCAPES.sub("", output) if "\x1b" in output else output
    if "\r" not in plain:
        return plain
    rows = (line.rstrip("\r") for line in plain.split("\n"))
    return "\n".join(row[row.rfind("\r") + 1 :] for row in rows)
