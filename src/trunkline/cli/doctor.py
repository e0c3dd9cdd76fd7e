"""`trunkline doctor`: what is installed, reachable and usable here, and how to fix the rest."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from trunkline.cli.remote import AsJson, Data

_MARKS = {"ok": ("ok", "32"), "missing": ("--", "33"), "fail": ("!!", "31")}


def add_to(app: typer.Typer) -> None:
    app.command("doctor", epilog="\b\nExample:\n  trunkline doctor --json")(doctor)


def doctor(
    data: Data = None,
    config: Annotated[Path | None, typer.Option(help="A settings file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine. Fails when the server could not start here."""
    from trunkline.cli.checks import run_all
    from trunkline.control.errors import TrunklineError
    from trunkline.control.settings import load

    try:
        settings = load({"data": data}, file=config)
    except TrunklineError as error:
        typer.echo(f"error: {error.message}", err=True)
        raise typer.Exit(2) from error
    checks = run_all(settings, os.environ)
    if as_json:
        rows = [
            {"name": one.name, "state": one.state, "detail": one.detail, "fix": one.fix}
            for one in checks
        ]
        typer.echo(json.dumps(rows, indent=2))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            mark, colour = _MARKS[check.state]
            if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
                mark = f"\x1b[{colour}m{mark}\x1b[0m"
            typer.echo(f"{mark}  {check.name:<{width}}  {check.detail}")
            if check.fix:
                typer.echo(f"    {'':<{width}}  fix: {check.fix}")
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)
