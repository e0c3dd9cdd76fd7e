"""Hears a session's log from any place on: a person's own, or the group's."""

from trunkline import limits
from trunkline.control.log.log import Log
from trunkline.control.log.reading import until
from trunkline.control.log.session_log import Batch, SessionLog


class Listener:
    """A `Reader` of one log, which neither misses an event nor hears one twice."""

    def __init__(self) -> None:
        self.position = 0
        """The newest event that it has heard."""

    def hear(self, event_id: int, line: str) -> None:
        raise NotImplementedError

    async def listen(self, log: Log, session: SessionLog, position: int) -> None:
        """Reads what came after that event, then goes on live."""
        self.position = position
        while self.position < (upto := session.last_id):
            found = until(await log.read(session, self.position, limits.EVENTS_PAGE_MAX), upto)
            for event_id, line in found:
                self._hear(event_id, line)
            if not found:
                self.position = upto  # it is in a gap, or the session was deleted meanwhile
        session.attach(self)

    def deliver(self, batch: Batch) -> None:
        for event_id, line in enumerate(batch.lines, batch.first_id):
            self._hear(event_id, line)

    def resync(self) -> None:
        """A machine lost events; nobody can copy those."""

    def _hear(self, event_id: int, line: str) -> None:
        self.position = event_id
        self.hear(event_id, line)
