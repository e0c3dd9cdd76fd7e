"""`trunkline`: every command of the project, and what the exit codes mean.

0: done. 1: it failed, and one line on stderr says why. 2: the command was not understood.
130: it was interrupted.
"""

import sys
from typing import Annotated

import typer

from trunkline import __version__
from trunkline.cli.output import CommandFailed, say
from trunkline.cli.tree import LazyGroup

app = typer.Typer(
    name="trunkline",
    cls=LazyGroup,
    help="Trunkline, a self-hosted control plane for AI agents.",
    epilog="\b\nStart here:\n  trunkline up\n  trunkline chat 'Hello'\n  trunkline machine add",
    no_args_is_help=True,
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


def main() -> None:
    """The entry point of the installed program."""
    try:
        app()
    except CommandFailed as error:
        say(f"error: {error}", err=True)
        sys.exit(1)
    except ModuleNotFoundError:
        from trunkline import extras

        if (why := extras.problem()) is None:
            raise
        say(f"error: {why}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has had enough. Nothing may be written to it at the exit.
        sys.stdout = None
        sys.exit(1)
