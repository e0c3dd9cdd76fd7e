"""Who takes the messages of sessions that do not run: those that were not started, and those that
were let go because too many rested.

A refused one is answered with the reason. Of one that was let go all is on disk: the control plane
learns of it by the next heartbeat, and what it said before that brings the session back.
"""

from collections.abc import Callable, Mapping

import structlog

from trunkline.execution.json_object import Json
from trunkline.execution.line import Handler, SessionLine
from trunkline.execution.process.child import Failure
from trunkline.execution.session.saved import SavedTurns

_log = structlog.get_logger(__name__)

SESSION_REFUSALS_MAX = 1000  # sessions that did not start and whose messages are answered


class _StandIns:
    """The newest of them."""

    def __init__(self, line: SessionLine, sessions_max: int) -> None:
        self._line = line
        self._sessions_max = sessions_max
        self._sessions: dict[str, None] = {}

    def _put(self, session_id: str, handlers: Mapping[str, Handler]) -> None:
        """The session's messages go there from now on."""
        self._line.register_session(session_id, handlers)
        self._sessions[session_id] = None
        if len(self._sessions) > self._sessions_max:
            oldest = next(iter(self._sessions))
            del self._sessions[oldest]
            self._line.unregister_session(oldest)

    def remove(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)


class Refusals(_StandIns):
    """Answers messages to the newest refused sessions. The next `start_session` tries again."""

    def __init__(self, line: SessionLine, emit: Callable[..., None]) -> None:
        super().__init__(line, SESSION_REFUSALS_MAX)
        self._emit = emit

    def add(self, session_id: str, failure: Failure, turns: SavedTurns | None = None) -> None:
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
        self._put(session_id, {"user_message": answer})


class Retired(_StandIns):
    """`bring_back` makes one a session again; it says who takes messages."""

    def __init__(
        self,
        line: SessionLine,
        bring_back: Callable[[str], Mapping[str, Handler]],
        sessions_max: int,
    ) -> None:
        super().__init__(line, sessions_max)
        self._bring_back = bring_back

    def add(self, session_id: str, handlers: Mapping[str, Handler]) -> None:
        """Takes the place of those handlers."""
        self._put(session_id, {kind: self._stand_in(session_id, kind) for kind in handlers})

    def _stand_in(self, session_id: str, kind: str) -> Callable[[Json], None]:
        def handle(data: Json) -> None:
            handlers = self._bring_back(session_id)
            if kind in handlers:
                handlers[kind](data)

        return handle
