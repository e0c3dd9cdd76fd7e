"""What MyAgent connections share: feeds in each shape, positions, who is connected, who speaks."""

from typing import TYPE_CHECKING

import structlog

from trunkline import limits
from trunkline.control.core import Core
from trunkline.control.edges.myagent.pages import Track
from trunkline.control.edges.myagent.positions import Positions
from trunkline.control.log.feeds import Feeds, Message, Translate
from trunkline.wire.myagent.outward import from_events, unshown
from trunkline.wire.myagent.outward_state import Outward

if TYPE_CHECKING:
    from trunkline.control.edges.myagent.connection import MyAgentConnection

_TEXT_CHARS_MAX = 1_000_000  # of a turn's answer, put together from its pieces

_log = structlog.get_logger(__name__)


class Shared:
    def __init__(self, core: Core) -> None:
        self._core = core
        self.positions = Positions(core.store, core.tasks, core.clock)
        self.connections: dict[str, MyAgentConnection] = {}
        self.speaking: set[str] = set()
        """Sessions for which a message is being taken: of two at once, one opens the turn."""
        self.state_key = core.keys.derive("myagent signed state")
        self._plain = Feeds(core.log, lambda session_id: self._translation(session_id, False))
        self._typed = Feeds(core.log, lambda session_id: self._translation(session_id, True))

    def feeds(self, *, typed: bool) -> Feeds:
        return self._typed if typed else self._plain

    def track(self, connection_id: str, user_id: str) -> Track:
        return Track(connection_id, user_id)

    def _translation(self, session_id: str, typed: bool) -> Translate:
        state = Outward(
            session_id,
            self._core.clock,
            typed=typed,
            llm_messages=self._core.settings.send_llm_message,
            confirm_timeout_s=limits.CONFIRM_TIMEOUT_S,
            text_chars_max=_TEXT_CHARS_MAX,
        )

        def translate(first_id: int, lines: list[str]) -> list[Message]:
            messages: list[Message] = []
            for event_id, line in enumerate(lines, first_id):
                try:
                    bodies = from_events(state, event_id, line)
                except Exception:
                    _log.exception(
                        "an event could not be shown", session=session_id, event_id=event_id
                    )
                    bodies = unshown(state, line)
                messages += [Message(event_id, body) for body in bodies]
            return messages

        return translate
