"""One record as lines of text: its fields aligned, what is nested in them below and indented."""

from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len

from trunkline.cli import cells, human
from trunkline.log_form import one_line

_STEP = "  "
_VALUE_MIN = 20
"""Cells that a value has at least, however narrow the terminal and long its name."""


def lines(item: dict[str, Any], *, width: int | None, now_ms: int | None) -> Iterator[str]:
    """`width`, `now_ms`: of a person's terminal and clock. Without them, for a pipe: nothing is
    rounded, wrapped or left out."""
    return _Writer(width, now_ms).fields(item, "")


class _Writer:
    def __init__(self, width: int | None, now_ms: int | None) -> None:
        self._width = width
        self._now_ms = now_ms

    def fields(self, item: dict[str, Any], indent: str) -> Iterator[str]:
        shown = {
            cells.plain(str(name)): (name, value)
            for name, value in item.items()
            if not (self._now_ms is not None and value in (None, "", [], {}))
        }
        names = [name for name, (_, value) in shown.items() if not _is_nested(value)]
        column = max(map(len, names), default=0)
        for name, (key, value) in shown.items():
            if _is_nested(value):
                yield f"{indent}{name}"
                yield from self._nested(value, indent + _STEP)
            else:
                yield from self._field(f"{indent}{name:<{column}}{_STEP}", str(key), value)

    def _nested(self, value: Any, indent: str) -> Iterator[str]:
        if isinstance(value, dict):
            yield from self.fields(value, indent)
            return
        for one in value:
            if not isinstance(one, dict) or not one:
                yield from self._field(f"{indent}- ", "", one)
                continue
            first, *rest = self.fields(one, indent + _STEP)
            yield f"{indent}- {first.removeprefix(indent + _STEP)}"
            yield from rest

    def _field(self, start: str, name: str, value: Any) -> Iterator[str]:
        text = self._text(name, value)
        said = text if isinstance(text, list) else [text]
        if self._width is not None:
            room = max(self._width - len(start), _VALUE_MIN)
            parts = [part for line in said for part in human.wrapped(line, room)]
            if name and max(map(cell_len, parts)) > room:
                # A long word, as an id: on a line of its own below rather than broken.
                yield start.rstrip()
                start = " " * (len(start) - len(start.lstrip())) + _STEP
                room = self._width - len(start)
                parts = [part for line in said for part in human.wrapped(line, room)]
            said = parts
        for number, line in enumerate(said):
            yield ((start if number == 0 else " " * len(start)) + line).rstrip()

    def _text(self, name: str, value: Any) -> str | list[str]:
        if isinstance(value, str) and "\n" in value:
            return [one_line(line) for line in value.rstrip("\n").split("\n")]
        if isinstance(value, list):
            return ", ".join(cells.exact("", one) for one in value) or "-"
        if value == {}:
            return "-"
        if self._now_ms is None:
            return cells.exact(name, value)
        if cells.is_time(name, value):
            near = cells.readable(name, value, self._now_ms)
            # Days ago it is the day alone, and in no calendar a number.
            return f"{human.clock(value)} ({near})" if " " in near else near
        return cells.readable(name, value, self._now_ms)


def _is_nested(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and any(isinstance(one, dict | list) for one in value)
