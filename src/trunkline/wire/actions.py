"""What the pure side of a machine's wire wants done, and what it may know of its turns.

`agp/device.py` and `yeaft/agent_talk.py` take inputs and leave these in `out`; the edge does them
in their order (`control/edges/runner.py`).
"""

from collections.abc import Container, Iterable
from typing import Any, Protocol

import msgspec


class Turns(Protocol):
    """The core's own state of this machine's sessions, to be read only."""

    def has_ended(self, session_id: str, turn_id: str) -> bool:
        """Also if there is no such session, or no such turn."""

    def is_past(self, session_id: str, turn_id: str) -> bool:
        """Whether the turn was one of the session's, and is over."""

    def open_turns(self, session_id: str) -> Container[str] | None:
        """Those that have no end yet, as they change; None if the session is not this machine's."""

    def late_turns(self, session_id: str) -> Iterable[str]:
        """Those that were ended here, and that the machine may yet end."""

    def open_sessions(self) -> list[str]:
        """The machine's sessions that are not closed."""


class Send(msgspec.Struct, frozen=True):
    """A message for the machine: in the wire's own type, or as the bytes that go out."""

    message: Any


class Write(msgspec.Struct, frozen=True):
    """An event of the machine, which may end a turn. Streamed text does not come this way."""

    session_id: str
    line: str


class Finish(msgspec.Struct, frozen=True):
    """End a turn that its machine will not end, or not in time. `is_late`: it may yet do so."""

    session_id: str
    turn_id: str
    kind: str
    fields: dict[str, Any]
    is_late: bool = False


class Settled(msgspec.Struct, frozen=True):
    """No late terminal event of this turn is expected any more."""

    session_id: str
    turn_id: str


class Resumed(msgspec.Struct, frozen=True):
    """The machine has said what it had to say first, and has these turns."""

    turns: list[str]


class NotStarted(msgspec.Struct, frozen=True):
    """The machine cannot start the session."""

    session_id: str
    why: str
    code: str


class Stopped(msgspec.Struct, frozen=True):
    """The machine has ended the session, or had the time to."""

    session_id: str


class Warn(msgspec.Struct, frozen=True):
    """Tell the session's readers of a problem with which no turn ends."""

    session_id: str
    problem: str


class Refuse(msgspec.Struct, frozen=True):
    """The machine named what is not its own: a `device`, `user`, `session` or `turn`."""

    kind: str
    name: str


class Wake(msgspec.Struct, frozen=True):
    """Say what time it is at that moment, at the latest."""

    at_s: float


class Fetch(msgspec.Struct, frozen=True):
    """Make the session's `Start`; then `fetched`, with this number."""

    session_id: str
    number: int


class Remember(msgspec.Struct, frozen=True):
    """Keep this of the session in its record, for the time after a restart."""

    session_id: str
    remote: dict[str, Any]


Action = (
    Send
    | Write
    | Finish
    | Settled
    | Resumed
    | NotStarted
    | Stopped
    | Warn
    | Refuse
    | Wake
    | Fetch
    | Remember
)
