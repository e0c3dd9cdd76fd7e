"""`trunkline`: every command of the project, and what the exit codes mean.

0: done. 1: it failed, and one line on stderr says why. 2: the command was not understood.
"""

import sys
from typing import Annotated

import typer

from trunkline import __version__
from trunkline.cli import (
    agents,
    audit,
    chat,
    doctor,
    machines,
    node,
    people,
    resources,
    rules,
    serve,
    sessions,
)
from trunkline.cli.output import CommandFailed

app = typer.Typer(
    name="trunkline",
    help="Trunkline, a self-hosted control plane for AI agents.",
    epilog=(
        "\b\nStart here:\n"
        "  trunkline up\n"
        "  trunkline machine schedule   (what a machine needs to connect)\n"
        "  trunkline chat 'Hello'       (once one is online)"
    ),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trunkline {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


serve.add_to(app)
node.add_to(app)
chat.add_to(app)
for _group in (
    agents.agents,
    audit.app,
    machines.app,
    resources.mcp,
    resources.memories,
    people.orgs,
    rules.app,
    sessions.app,
    resources.skills,
    people.tokens,
    people.users,
    agents.persons,
    agents.groups,
):
    app.add_typer(_group)
audit.add_to(app)
doctor.add_to(app)


def main() -> None:
    """The entry point of the installed program."""
    try:
        app()
    except CommandFailed as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read our output has had enough. Nothing may be written to it at the exit.
        sys.stdout = None
        sys.exit(1)
