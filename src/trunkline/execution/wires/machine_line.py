"""The line of a machine as the daemon needs it, whoever is at its other end.

`ws/client.py` speaks to a control plane, `wires/` to foreign servers; the daemon knows this alone.
"""

from collections.abc import Callable
from typing import Any, Protocol

from trunkline.execution.session.line import Line
from trunkline.execution.ws.handlers import Handlers

Json = dict[str, Any]


class MachineLine(Line, Protocol):
    """What the daemon sets before `connect`, and what it calls."""

    message_handlers: Handlers
    """Who takes which message; the machine's own handlers are set under MACHINE."""
    active_sessions: Callable[[], list[str]]
    open_turns: Callable[[], list[str]]
    health: Callable[[], Json]
    on_init: Callable[[Json], None]
    """Told keys and addresses, before the first session starts."""
    on_line: Callable[[bool], None]

    async def connect(self) -> Json:
        """Keeps a line up from now on. Returns the data of `init`."""

    async def close(self) -> None:
        """Sends what can be sent at once; the rest stays owed."""
