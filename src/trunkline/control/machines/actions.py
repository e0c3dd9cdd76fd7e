"""What the pure core wants done. The shell (`machines/shell.py`) does it.

A list of these is the only thing that comes out of an input, besides the new state.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.wire.commands import Command


class Time(msgspec.Struct):
    """What time it is, as the shell last said."""

    ms: int = 0
    """Unix time, for people."""
    s: float = 0.0
    """A clock that only goes forward, for deadlines."""


class Append(msgspec.Struct, frozen=True):
    """An event or a note for the session's log, and what it means for the records."""

    session_id: str
    text: str
    is_note: bool
    changes: Sequence[Any]
    state: Any
    """The session's, with all that was appended in the same input."""


class Skip(msgspec.Struct, frozen=True):
    """An event of the machine was taken and is not logged; its number still counts."""

    session_id: str


class Send(msgspec.Struct, frozen=True):
    """A command for the line, once everything before it is committed."""

    command: Command


class Fetch(msgspec.Struct, frozen=True):
    """Make the session's `Start`; then `fetched`."""

    session_id: str


class Load(msgspec.Struct, frozen=True):
    """Read the turn's message from the records; then `loaded`."""

    session_id: str
    turn_id: str


class Look(msgspec.Struct, frozen=True):
    """The machine runs sessions that are not its own: see what they are; then `stop_strays`."""

    session_ids: frozenset[str]


class Departed(msgspec.Struct, frozen=True):
    """The machine does not list what it runs: look up which sessions left it; then
    `stop_strays`."""


class Recall(msgspec.Struct, frozen=True):
    """Sessions were closed while the machine was given up: `adopt` them, it has to be told."""


class Status(msgspec.Struct, frozen=True):
    """Tell whoever reads one of its sessions (or just one of them) how the machine is."""

    fields: dict[str, Any]
    session_id: str | None = None


class Released(msgspec.Struct, frozen=True):
    """The session is none of this machine's any more."""

    session_id: str


Action = Append | Skip | Send | Fetch | Load | Look | Departed | Recall | Status | Released
