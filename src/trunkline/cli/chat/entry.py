"""What a person says, and what the program ends with: shared by a terminal and a pipe."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

INTERRUPTED: Final = 130
CODES: Final = {"completed": 0, "failed": 1, "cancelled": INTERRUPTED}
"""The exit code, by how the turn ended."""


class Entry(NamedTuple):
    """One entry at the prompt, or the message that the command was given. `is_later`: not for the
    turn that runs, but for when it has ended."""

    text: str
    is_later: bool = False
    files: Sequence[Path] = ()
