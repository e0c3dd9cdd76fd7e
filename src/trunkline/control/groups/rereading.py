"""An open turn of a group, read again from its log after a restart."""

from collections.abc import AsyncIterator

from trunkline import limits
from trunkline.control.errors import Unavailable
from trunkline.control.groups.copying import object_of
from trunkline.control.groups.round import Round
from trunkline.control.log.log import Log, SessionLog


async def read_again(log: Log, session: SessionLog, round_: Round, events_max: int) -> None:
    """Shows the turn everything that the log has of it, as far back as it is looked for."""
    begin = await _begin_of(log, session, round_.turn_id, events_max)
    async for _, line in _lines(log, session, begin, session.last_id):
        if round_.turn_id in line or '"approval_resolved"' in line:
            event = object_of(line)
            if event is not None:
                round_.apply(event)


async def _begin_of(log: Log, session: SessionLog, turn_id: str, events_max: int) -> int:
    """Where the turn's message stands: from the newest page back to the one that has it."""
    last = upto = session.last_id
    while upto > 0:
        after = max(0, upto - limits.EVENTS_PAGE_MAX)
        async for event_id, line in _lines(log, session, after, upto):
            if turn_id in line and '"user_message"' in line:
                event = object_of(line)
                if event and event["type"] == "user_message" and event.get("turn_id") == turn_id:
                    return event_id
        upto = after
        if last - upto > events_max:
            raise Unavailable("this turn is too long to be found again after a restart")
    return last  # a crash came before the message was logged: nothing has been done for it


async def _lines(
    log: Log, session: SessionLog, after: int, upto: int
) -> AsyncIterator[tuple[int, str]]:
    """The events after one id, up to another."""
    while after < upto:
        found = await log.read(session, after, min(limits.EVENTS_PAGE_MAX, upto - after))
        for event_id, line in found:
            yield event_id, line
        after = found[-1][0] if found else upto
