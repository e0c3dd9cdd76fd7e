"""One session's events for MyAgent connections: a `Translate` of their feeds."""

import structlog

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.log.feeds import Message
from trunkline.wire.myagent.messages import Downlink
from trunkline.wire.myagent.outward import from_events, under_way, unshown
from trunkline.wire.myagent.outward_state import Outward
from trunkline.wire.myagent.pieces import Piece

_log = structlog.get_logger(__name__)

_TEXT_CHARS_MAX = 1_000_000  # of a turn's answer, put together from its pieces


class PieceMessage(Message, gc=False):
    """A piece of an answer, which each connection joins with its neighbours: it has no body."""

    piece: Piece | None = None


class Translation:
    """Keeps what is under way in its session."""

    def __init__(self, state: Outward) -> None:
        self._state = state

    @property
    def is_busy(self) -> bool:
        """A turn runs."""
        return self._state.underway.is_busy

    def under_way(self) -> Downlink | None:
        """What is told first to who begins to follow here."""
        return under_way(self._state)

    def __call__(self, first_id: int, lines: list[str]) -> list[Message]:
        messages: list[Message] = []
        for event_id, line in enumerate(lines, first_id):
            try:
                made = from_events(self._state, event_id, line)
            except Exception:
                session_id = self._state.session_id
                _log.exception("an event could not be shown", session=session_id, event_id=event_id)
                made = [*unshown(self._state, line)]
            for one in made:
                if isinstance(one, Piece):
                    messages.append(PieceMessage(event_id, b"", None, one))
                else:
                    messages.append(Message(event_id, one))
        return messages


def translation(core: Core, session_id: str, *, typed: bool) -> Translation:
    """`typed`: the shape in which an answer is an object."""
    state = Outward(
        session_id,
        core.clock,
        typed=typed,
        llm_messages=core.settings.send_llm_message,
        confirm_timeout_s=limits.CONFIRM_TIMEOUT_S,
        text_chars_max=_TEXT_CHARS_MAX,
    )
    return Translation(state)
