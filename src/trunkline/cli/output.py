"""What commands print: tables for people, tab-separated lines for pipes, JSON on request.

Texts from records are shown with their control characters escaped: what an agent or another
user wrote must not move this terminal.
"""

import json
import sys
import unicodedata
from datetime import datetime
from typing import Any, Literal

import msgspec
import typer

from trunkline.log_form import one_line

Json = dict[str, Any]

PIPE_CHARS = 200  # as wide as a table may be where no terminal says how wide it is


class CommandFailed(Exception):
    """Ends a command with exit code 1; its text is the one line on stderr that says what to do."""


class Rows(msgspec.Struct):
    """A list of records and the columns that a person wants to see of them."""

    items: list[Json]
    columns: tuple[str, ...]
    is_table: bool = False
    """With headers also in a pipe: it is for people, and programs take the JSON."""
    raw: list[Json] | None = None
    """For JSON, where `items` were made for people."""


class Record(msgspec.Struct):
    """One record, every field of it. `hint`: what else people may want to know."""

    item: Json
    hint: str = ""


class Done(msgspec.Struct):
    """Something was done; there is nothing to show but that."""

    text: str


class Text(msgspec.Struct):
    """Many lines, for people and programs as they are; `item` is the whole, for JSON."""

    text: str
    item: Json = {}


Shown = Rows | Record | Done | Text


def show(shown: Shown, *, as_json: bool) -> None:
    if as_json:
        _show_json(shown)
    elif isinstance(shown, Done):
        typer.echo(one_line(shown.text))
    elif isinstance(shown, Text):
        _show_text(shown.text)
    elif isinstance(shown, Record):
        _show_record(shown.item)
        if shown.hint:
            typer.echo(one_line(shown.hint))
    elif shown.is_table or sys.stdout.isatty():
        _show_table(shown)
    else:
        for item in shown.items:
            typer.echo("\t".join(cell(name, item.get(name)) for name in shown.columns))


def _show_json(shown: Shown) -> None:
    if isinstance(shown, Rows):
        value: Any = shown.items if shown.raw is None else shown.raw
    else:
        value = {"done": shown.text} if isinstance(shown, Done) else shown.item
    typer.echo(json.dumps(value, indent=2, ensure_ascii=not _is_utf8()))


def _show_text(text: str) -> None:
    """A pipe gets it as it is: it may be a patch."""
    if sys.stdout.isatty():
        text = "\n".join(map(one_line, text.split("\n")))
    typer.echo(text, nl=False)


def _show_record(item: Json) -> None:
    width = max(map(len, item), default=0)
    for name, value in item.items():
        typer.echo(f"{one_line(name):<{width}}  {cell(name, value)}")


def _show_table(rows: Rows) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows.items:
        typer.echo("none")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows.columns:
        # An id is copied from here into the next command: it is never cut.
        is_number = rows.items and all(_is_number(item.get(name)) for item in rows.items)
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(name, justify=justify, no_wrap=name.endswith("id"), overflow="fold")
    for item in rows.items:
        table.add_row(*(Text(cell(name, item.get(name))) for name in rows.columns))
    Console(width=None if sys.stdout.isatty() else PIPE_CHARS).print(table)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain(text: str) -> str:
    """The text with every character escaped that has no form of its own, or that of another: what a
    person decides upon must not look like something else."""
    return "".join(one if _has_form(one) else repr(one)[1:-1] for one in text)


def _has_form(character: str) -> bool:
    return character == " " or not unicodedata.category(character).startswith(("C", "Z"))


def cell(name: str, value: Any) -> str:
    """A value as one line of text."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_at") and isinstance(value, int):
        try:
            return datetime.fromtimestamp(value / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        except (OverflowError, ValueError, OSError):
            return str(value)
    if isinstance(value, dict | list):
        return plain(json.dumps(value, ensure_ascii=False))
    return one_line(str(value))


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
