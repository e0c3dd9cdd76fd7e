"""Every command explains itself."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from trunkline.cli.main import app
from trunkline.cli.tree import COMMANDS


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from commands(child, (*path, name))


SERVERS = {("up",), ("control",), ("node",)}
ALL = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_a_command_has_help_with_an_example_of_itself(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*path, "--help"])
    assert done.exit_code == 0
    assert f"trunkline {' '.join(path)}" in done.output.split("Example:")[1]
    assert not re.search(r"<(str|int|float|path|list)|list\[| range>", done.output), "for people"


@pytest.mark.parametrize("path", [path for path in ALL if path not in SERVERS])
def test_a_command_that_prints_records_can_print_json(path: tuple[str, ...]) -> None:
    assert "--json" in CliRunner().invoke(app, [*path, "--help"]).output


def test_the_commands_of_the_reference_are_there() -> None:
    names = {path[0] for path in ALL}
    assert names >= {
        "up",
        "control",
        "node",
        "chat",
        "token",
        "user",
        "agent",
        "session",
        "machine",
    }
    assert names >= {"skill", "mcp", "memory", "usage", "audit", "doctor", "org"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_in_the_help_is_its_own(name: str) -> None:
    command: Any = typer.main.get_command(app)
    assert command.commands[name].get_short_help_str(1000) == COMMANDS[name].line


ALWAYS_SLOW = {"aiohttp", "click", "mcp", "prompt_toolkit", "pydantic", "rich", "sqlalchemy"}


@pytest.mark.parametrize(
    ("words", "slow"),
    [
        (["--help"], {*ALWAYS_SLOW, "asyncio", "msgspec", "trunkline.client", "trunkline.control"}),
        (["chat", "--help"], {*ALWAYS_SLOW, "trunkline.control"}),
    ],
)
def test_nothing_slow_is_loaded_for_help(words: list[str], slow: set[str]) -> None:
    code = (
        "import sys, trunkline.cli.main as m\n"
        "try: m.main()\n"
        "finally: print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--help" in done.stdout
    assert slow.intersection(ast.literal_eval(done.stderr)) == set()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chta"], "Did you mean 'chat'?"),
        (["sesion", "list"], "Did you mean 'session'"),
        (["agent", "lst"], "Did you mean 'list'?"),
        (["agent", "list", "--limt", "3"], "Possible options: --limit"),
        (["zzzzzz"], "No such command 'zzzzzz'"),
    ],
)
def test_what_there_is_not_is_refused_with_the_nearest(arguments: list[str], says: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert says in done.output
