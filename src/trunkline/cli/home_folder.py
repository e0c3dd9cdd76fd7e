"""Whether agents of `trunkline up` may work below the user's home: asked once, and kept.

In the data folder, as a word that people can read and change. Who names folders (`--root`) has
answered already.
"""

import sys
from pathlib import Path

import typer

from trunkline.cli.output import say
from trunkline.private_files import write_private

FILE = "home-folder"
_YES, _NO = "allowed", "closed"

HINT = "To let agents work in a folder of yours: trunkline up --root FOLDER"


def allowed(data_dir: Path, home: Path) -> bool | None:
    """None where nobody was asked, and nobody is here to be."""
    kept = data_dir / FILE
    try:
        said = kept.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        said = ""
    if said in (_YES, _NO):
        return said == _YES
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    say(
        f"May agents work in folders below {home}, where you tell them to (trunkline chat --cwd)?"
        f" Asked once; {kept} keeps the answer."
    )
    is_allowed = typer.confirm("Allow it?", default=False)
    write_private(kept, f"{_YES if is_allowed else _NO}\n")
    return is_allowed
