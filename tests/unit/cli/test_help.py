"""Every command explains itself."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from trunkline.cli.main import app


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


def test_nothing_slow_is_imported_for_help() -> None:
    import subprocess
    import sys

    code = (
        "import sys, trunkline.cli.main as m;"
        "print([n for n in ('aiohttp', 'sqlalchemy', 'rich', 'uvloop', 'mcp') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
