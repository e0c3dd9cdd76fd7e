"""What commands print: tables for people, tab-separated lines for pipes, JSON on request."""

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any

import typer

from trunkline.cli import cells
from trunkline.cli.cells import plain
from trunkline.log_form import one_line

__all__ = [
    "CommandFailed",
    "Done",
    "Json",
    "Record",
    "Rows",
    "Shown",
    "Text",
    "plain",
    "say",
    "show",
]

Json = dict[str, Any]


class CommandFailed(Exception):
    """Ends a command with exit code 1; its text is the one line on stderr that says what to do."""


@dataclass
class Rows:
    """A list of records and the columns that a person wants to see of them."""

    items: list[Json]
    columns: tuple[str, ...]
    """The most important first: where the terminal is narrow, the last ones go."""
    raw: list[Json] | None = None
    """For JSON, where `items` were made for people."""
    view: list[Json] | None = None
    """For people, where pipes get more."""
    empty: str = "none"
    """What is said where there are none: what to do next."""
    whole: str = ""
    """A column that is never cut: it stands below its row."""


@dataclass
class Record:
    """One record, every field of it. `hint`: what else people may want to know. `view`: what they
    see of it, where that is not all."""

    item: Json
    hint: str = ""
    view: Json | None = None


@dataclass
class Done:
    """Something was done; there is nothing to show but that."""

    text: str


@dataclass
class Text:
    """Many lines, for people and programs as they are; `item` is the whole, for JSON.

    `painted`: what a terminal shows in its place, in colours and with all else escaped.
    """

    text: str
    item: Json = field(default_factory=dict)
    painted: str = ""


Shown = Rows | Record | Done | Text


def show(shown: Shown, *, as_json: bool, is_wide: bool = False, has_header: bool = True) -> None:
    """`is_wide`: whole ids, all columns and texts, however wide the terminal is."""
    if as_json:
        _show_json(shown)
    elif isinstance(shown, Done):
        say(one_line(shown.text))
    elif isinstance(shown, Text):
        _show_text(shown)
    elif isinstance(shown, Record):
        _show_record(shown)
    elif sys.stdout.isatty():
        _show_table(shown, is_wide=is_wide, has_header=has_header)
    else:
        _show_lines(shown, has_header=has_header)


def say(text: str, *, err: bool = False) -> None:
    """Sentences; on a terminal broken between words. A line that is indented is to be copied, and
    stays as it is."""
    stream = sys.stderr if err else sys.stdout
    typer.echo(by_words(text, _width()) if stream.isatty() else text, err=err)


def by_words(text: str, width: int) -> str:
    from trunkline.cli.human import wrapped

    found: list[str] = []
    for line in text.split("\n"):
        found += [line] if line.startswith(" ") else wrapped(line, width)
    return "\n".join(found)


def _show_json(shown: Shown) -> None:
    if isinstance(shown, Rows):
        value: Any = shown.items if shown.raw is None else shown.raw
    else:
        value = {"done": shown.text} if isinstance(shown, Done) else shown.item
    typer.echo(json.dumps(value, indent=2, ensure_ascii=not _is_utf8()))


def _show_text(shown: Text) -> None:
    """A pipe gets it as it is: it may be a patch."""
    text = shown.text
    if sys.stdout.isatty():
        text = shown.painted or "\n".join(map(one_line, text.split("\n")))
    typer.echo(text, nl=False)


def _show_record(record: Record) -> None:
    from trunkline.cli import fields

    if sys.stdout.isatty():
        item = record.item if record.view is None else record.view
        found = fields.lines(item, width=_width(), now_ms=_now_ms())
    else:
        found = fields.lines(record.item, width=None, now_ms=None)
    for line in found:
        typer.echo(line)
    if record.hint:
        say(one_line(record.hint))


def _show_lines(rows: Rows, *, has_header: bool) -> None:
    if has_header:
        typer.echo("\t".join(rows.columns))
    for item in rows.items:
        typer.echo("\t".join(cells.exact(name, item.get(name)) for name in rows.columns))


def _show_table(rows: Rows, *, is_wide: bool, has_header: bool) -> None:
    if not rows.items:
        say(one_line(rows.empty))
        return
    for line in table_lines(
        rows, None if is_wide else _width(), _now_ms(), bold=_bold, has_header=has_header
    ):
        typer.echo(line)


def table_lines(
    rows: Rows, width: int | None, now_ms: int, *, bold: Any = str, has_header: bool = True
) -> list[str]:
    """The table as it stands in a terminal of that width; None: as wide as it is."""
    from trunkline.cli.human import wrapped
    from trunkline.cli.table import fitted

    if rows.view is not None:
        rows = replace(rows, items=rows.view)
    names = [name for name in rows.columns if name != rows.whole]
    if width is not None:
        names = [name for name in names if _is_set(rows, name)] or names[:1]
    head, *lines = fitted([_column(rows, name, width, now_ms) for name in names], width)
    if rows.whole:
        room = 10_000 if width is None else max(width - 2, 1)
        whole = [cells.readable(rows.whole, item.get(rows.whole), now_ms) for item in rows.items]
        lines = [
            part
            for line, text in zip(lines, whole, strict=True)
            for part in (line, *(f"  {one}" for one in wrapped(text, room)))
        ]
    return [bold(head), *lines] if has_header else lines


def _is_set(rows: Rows, name: str) -> bool:
    """A column of nothing tells a person nothing."""
    return any(item.get(name) not in (None, "", [], {}) for item in rows.items)


def _column(rows: Rows, name: str, width: int | None, now_ms: int) -> Any:
    from trunkline.cli.table import Column

    values = [item.get(name) for item in rows.items]
    is_number = any(map(cells.is_number, values)) and not any(
        cells.is_time(name, one) or isinstance(one, str) for one in values
    )
    short = cells.shortened(values) if cells.is_id(name) and width is not None else {}
    texts = [
        short[one] if isinstance(one, str) and one in short else cells.readable(name, one, now_ms)
        for one in values
    ]
    is_whole = is_number or cells.is_id(name) or name.endswith("_at")
    return Column(cells.title(name), texts, is_whole=is_whole, is_right=is_number)


def _bold(text: str) -> str:
    is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if is_plain else f"\x1b[1m{text}\x1b[0m"


def _width() -> int:
    return shutil.get_terminal_size().columns


def _now_ms() -> int:
    return int(time.time() * 1000)


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
