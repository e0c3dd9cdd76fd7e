"""One session's events for Yeaft web clients: a `Translate` of their feeds."""

import structlog

from trunkline.control.edges.yeaft_web.visit import WIRE
from trunkline.control.log.feeds import Message, Translate
from trunkline.wire.yeaft import plain
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_state import Outward

_log = structlog.get_logger(__name__)


def translation(session_id: str, agent_id: str | None, kind: str, *, deployed: bool) -> Translate:
    """`agent_id`, `kind`: of the machine that has the session. `deployed`: the dialect."""
    state = Outward(
        session_id,
        agent_id=agent_id,
        is_group=kind == "group",
        deployed=deployed,
        relays=kind == WIRE,
    )

    def translate(first_id: int, lines: list[str]) -> list[Message]:
        messages: list[Message] = []
        at = 0
        while at < len(lines):
            bodies = plain.from_lines(state, lines, at)
            messages += map(Message, range(first_id + at, first_id + len(lines)), bodies)
            at += len(bodies)
            if at < len(lines):
                messages += other(first_id + at, lines[at])
                at += 1
        return messages

    def other(event_id: int, line: str) -> list[Message]:
        try:
            outs = from_events(state, event_id, line)
        except Exception:
            _log.exception("an event could not be translated", session=session_id)
            return []
        return [Message(event_id, out.body, out.said) for out in outs]

    return translate
