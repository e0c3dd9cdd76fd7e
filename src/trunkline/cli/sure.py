"""Before something goes for good: a person is asked, a script says `--yes`."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from trunkline.cli.output import CommandFailed
from trunkline.log_form import one_line

Sure = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()


def _answer(question: str) -> bool:
    return typer.confirm(question, err=True)


def make_sure(
    question: str,
    can_ask: Callable[[], bool] = _at_a_terminal,
    answer: Callable[[str], bool] = _answer,
) -> None:
    """Returns if the answer is yes; where nobody can be asked, it is no."""
    question = one_line(question)
    if not can_ask():
        raise CommandFailed(f"{question} Nobody can be asked here: say --yes")
    if not answer(question):
        raise CommandFailed("nothing was done")
