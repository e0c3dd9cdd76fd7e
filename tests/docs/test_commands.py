"""Commands of the manual that nobody runs: the command line would understand them all the same."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer._click import exceptions

from tests.docs.blocks import RUN, blocks, pages
from trunkline.cli.main import app

_CALL = re.compile(r"(?:^|[\s(&;`$])(?:[A-Z_]+=\S+\s+)*trunkline +(?P<words>\S.*)")
_INLINE = re.compile(r"`(?:[A-Z_]+=\S+ )*trunkline (?P<words>[^`]+)`")
_ENDS = {"|", "||", "&&", ";", ">", ">>", "<", "&", "2>", "|&"}
_NOT_WORDS = re.compile(r"…|\||\.\.\.|^COMMAND ")
SHELLS = ("console", "sh", "bash")

PAGES = {page: path.read_text(encoding="utf-8") for page, path in pages().items()}


def in_blocks(text: str, page: str) -> Iterator[tuple[str, str]]:
    for block in blocks(text, page):
        if block.language not in SHELLS or block.is_run:
            continue
        whole = block.text.replace("\\\n", " ")
        for number, line in enumerate(whole.splitlines()):
            typed = line.removeprefix("$ ")
            is_typed = block.language != "console" or line.startswith("$ ")
            if is_typed and (found := _CALL.search(typed)) and "#" not in typed[: found.start()]:
                yield f"{page}:{block.line + number}", found["words"]


def complaint(words: str, *, is_whole: bool) -> str | None:
    """What the command line says against it; `is_whole`: nothing may be left out."""
    arguments: list[str] = []
    for word in shlex.split(words, comments=True):
        if word in _ENDS or word.startswith((">", "<")):
            break
        arguments.append(word)
    command: Any = typer.main.get_command(app)
    context: Any = command.make_context("trunkline", list(arguments), resilient_parsing=True)
    try:
        while hasattr(command, "commands"):
            if not arguments or arguments[0].startswith("-"):
                return None  # the group itself: its help, or a daemon that is started
            said = arguments[0]
            name, command, arguments = command.resolve_command(context, arguments)
            if command is None:
                return f"No such command {said!r}"
            context = command.make_context(name, list(arguments), parent=context, **_MILD)
        if is_whole and "--help" not in arguments:
            command.make_context(name, list(arguments), parent=context.parent)
        else:
            command.make_parser(context).parse_args(list(arguments))
    except (exceptions.NoSuchOption, exceptions.MissingParameter) as error:
        return error.format_message()
    except exceptions.BadParameter:
        return None  # a file that is not there
    except exceptions.UsageError as error:
        return error.format_message()
    return None


_MILD = {"resilient_parsing": True, "allow_interspersed_args": True, "ignore_unknown_options": True}


@pytest.mark.parametrize("page", PAGES)
def test_a_command_that_is_only_shown_would_be_understood(page: str) -> None:
    found = [
        f"{where}: trunkline {words}: {problem}"
        for where, words in in_blocks(PAGES[page], page)
        if (problem := complaint(words, is_whole=True))
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES)
def test_a_command_in_a_sentence_exists_with_its_options(page: str) -> None:
    found = [
        f"{page}: trunkline {words}: {problem}"
        for words in _INLINE.findall(PAGES[page])
        if not _NOT_WORDS.search(words) and (problem := complaint(words, is_whole=False))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("session diff", "Missing argument"),
        ("session diff NAME extra", "unexpected"),
        ("session list --nope", "No such option"),
        ("sesion list", "No such command"),
        ("session export NAME > talk.jsonl", None),
        ("chat --cwd . 'Hello'   # says hello", None),
    ],
)
def test_what_is_wrong_with_a_command_is_found(words: str, says: str | None) -> None:
    found = complaint(words, is_whole=True)
    assert says in found if says and found else found is says, found


def test_every_shell_is_one_that_is_run() -> None:
    assert set(SHELLS) <= set(RUN)
