"""Sessions that were let go because too many rested: all that is left of them is on disk.

The control plane learns of it by the next heartbeat and starts them again when they are spoken
to. What it said before that finds its way through here.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from trunkline import limits
from trunkline.execution.session.line import Handlers, Line

Json = dict[str, Any]


class Retired:
    """The newest of them. `bring_back` makes one a session again; it says who takes messages."""

    def __init__(self, line: Line, bring_back: Callable[[str], Handlers]) -> None:
        self._line = line
        self._bring_back = bring_back
        self._sessions: OrderedDict[str, None] = OrderedDict()

    def add(self, session_id: str, handlers: Handlers) -> None:
        """Takes the place of those handlers."""
        stand_ins = {kind: self._stand_in(session_id, kind) for kind in handlers}
        self._line.register_session(session_id, stand_ins)
        self._sessions[session_id] = None
        if len(self._sessions) > limits.SESSIONS_RETIRED_MAX:
            self._line.unregister_session(self._sessions.popitem(last=False)[0])

    def remove(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    def _stand_in(self, session_id: str, kind: str) -> Callable[[Json], None]:
        def handle(data: Json) -> None:
            handlers = self._bring_back(session_id)
            if kind in handlers:
                handlers[kind](data)

        return handle
