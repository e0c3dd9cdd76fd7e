"""Sessions that are not started: why, for everybody who asks until the control plane knows it."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import structlog

from trunkline import limits
from trunkline.execution.process.child import Failure
from trunkline.execution.session.line import Line
from trunkline.execution.session.turns import Turns

_log = structlog.get_logger(__name__)

Json = dict[str, Any]


class Refusals:
    """Answers messages to the newest refused sessions. The next `start_session` tries again."""

    def __init__(self, line: Line, emit: Callable[..., None]) -> None:
        self._line = line
        self._emit = emit
        self._sessions: OrderedDict[str, None] = OrderedDict()

    def add(self, session_id: str, failure: Failure, turns: Turns | None = None) -> None:
        """Says why: to the turns that came already, else to the session as a whole."""
        _log.error(
            "session not started", session=session_id, code=failure.code, problem=failure.message
        )

        def answer(data: Json) -> None:
            turn_id = data.get("turn_id")
            named = {"turn_id": turn_id} if isinstance(turn_id, str) else {}
            self._emit(session_id, "execution_error", **named, **failure.fields())

        if turns is None or not turns.open:
            answer({})
        else:
            for turn in turns.open:
                answer({"turn_id": turn.turn_id})
                turns.end(turn.turn_id)
        self._line.register_session(session_id, {"user_message": answer})
        self._sessions[session_id] = None
        if len(self._sessions) > limits.SESSION_REFUSALS_MAX:
            self._line.unregister_session(self._sessions.popitem(last=False)[0])

    def remove(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
