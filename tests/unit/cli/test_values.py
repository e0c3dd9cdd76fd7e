"""What is written on the command line is read, or refused with what may be written."""

import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
import typer.main

from trunkline.cli.values import lighten


class Scope(StrEnum):
    READ = "read"
    TALK = "talk"


app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def command(
    mode: Literal["plan", "ask", "free"] | None = None,
    scope: Annotated[list[Scope] | None, typer.Option()] = None,
    count: Annotated[int, typer.Option(min=1, max=20)] = 5,
    days: Annotated[float | None, typer.Option(min=0.5)] = None,
    folder: Path | None = None,
    word: str = "-",
) -> dict[str, Any]:
    given = {"mode": mode, "scope": scope, "count": count, "days": days, "folder": folder}
    return {**given, "word": word}


def read(*arguments: str) -> dict[str, Any]:
    made = typer.main.get_command(app)
    lighten(made.params)
    found: dict[str, Any] = made.main(list(arguments), standalone_mode=False)
    return found


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ((), "count", 5),
        ((), "mode", None),
        ((), "scope", None),
        (("--mode", "free"), "mode", "free"),
        (("--scope", "read", "--scope", "talk"), "scope", [Scope.READ, Scope.TALK]),
        (("--count", "20"), "count", 20),
        (("--days", "0.5"), "days", 0.5),
        (("--folder", "a/b"), "folder", Path("a/b")),
        (("--word", "\x1b[2J你好"), "word", "\x1b[2J你好"),
    ],
)
def test_a_value_is_read(arguments: tuple[str, ...], name: str, value: object) -> None:
    assert read(*arguments)[name] == value


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--mode", "fre"), "'fre' is not one of plan, ask, free: did you mean 'free'?"),
        (("--mode", ""), "'' is not one of plan, ask, free"),
        (("--mode", "\x1b[2J" * 50), "is not one of plan, ask, free"),
        (("--scope", "reed"), "'reed' is not one of read, talk: did you mean 'read'?"),
        (("--count", "21"), "21 is not from 1 to 20"),
        (("--count", "1.5"), "'1.5' is no whole number"),
        (("--count", "9" * 5000), "is no whole number"),
        (("--days", "nan"), "nan is not 0.5 or more"),
        (("--days", "soon"), "'soon' is no number"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_those_that_can(
    arguments: tuple[str, ...], says: str
) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        read(*arguments)
    assert says in refused.value.message
    assert "\x1b" not in refused.value.message


def test_values_are_read_without_pydantic() -> None:
    """It takes longer to load than everything else that a command needs before it can begin."""
    code = (
        "import sys, trunkline.cli.main as m\n"
        "try: m.main()\n"
        "finally: print('pydantic' in sys.modules)"
    )
    words = ["memory", "search", "x", "--top-k", "3", "--url", "gopher://x"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (done.stdout.strip(), "no http address" in done.stderr) == ("False", True)
