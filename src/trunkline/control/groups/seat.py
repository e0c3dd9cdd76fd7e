"""One person in one conversation: asked one thing at a time, heard as a `Reader` of its session.

Knows which events answer which ask; what they mean for the group is the conversation's business.
"""

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from trunkline import limits
from trunkline.control.groups.copying import Json, object_of
from trunkline.control.groups.round import Ask, Round
from trunkline.control.groups.seats import SeatRecord
from trunkline.control.log.log import Batch, Log, SessionLog


class Hears(Protocol):
    """Whoever wants to know what a person does. Neither raises nor waits."""

    def heard(self, seat: "Seat", round_: Round, ask: Ask, event_id: int, event: Json) -> None: ...

    def settled(self, seat: "Seat", event_id: int, event: Json) -> None:
        """A question of that person has its answer."""


class Seat:
    def __init__(self, person_id: str, record: SeatRecord | None, hears: Hears) -> None:
        self.person_id = person_id
        self.record = record
        self.current: tuple[Round, Ask] | None = None
        self.waiting: deque[tuple[Round, Ask]] = deque()
        self.position = 0
        self._hears = hears
        self._log: SessionLog | None = None
        self._turn_id: str | None = None
        self._is_answering = False
        """Whether what comes now is of the current ask."""
        self._other_turns: deque[str] = deque(maxlen=limits.PAGE_MAX)

    def next(self) -> tuple[Round, Ask] | None:
        """Takes up what waits, if nothing is at work."""
        if self.current is not None or not self.waiting:
            return None
        self.current = self.waiting.popleft()
        # After a restart: what the group's log has of an answer is not to come again.
        self._is_answering = self.current[1].copied_id > 0
        return self.current

    @property
    def session_id(self) -> str:
        """The person's own session, once it has one."""
        assert self.record is not None
        return self.record.member_session_id

    def knows(self, turns: Iterable[str], own: str | None) -> None:
        """The session's turns, oldest first: the current ask's, if it was sent, and others'."""
        self._turn_id = own
        self._other_turns = deque((one for one in turns if one != own), maxlen=limits.PAGE_MAX)

    def answers_now(self) -> None:
        """The ask is known to be the session's newest message."""
        self._is_answering = True

    def end(self, event: Json) -> None:
        """The current ask has an end that its log does not show."""
        if self.current is not None:
            self._hears.heard(self, *self.current, self.position, event)

    def free(self) -> None:
        """The current ask is over; what may still come of it is nobody's."""
        if self._turn_id is not None:
            self._other_turns.append(self._turn_id)
        self.current, self._turn_id, self._is_answering = None, None, False

    def drop(self, round_: Round) -> list[Ask]:
        """Takes back what waits of that turn."""
        dropped = [ask for one, ask in self.waiting if one is round_]
        self.waiting = deque(pair for pair in self.waiting if pair[0] is not round_)
        return dropped

    async def follow(self, log: Log, position: int | None) -> None:
        """Reads on after that event, then live; None: from now on. If it does already, it goes
        on as it was."""
        session = await log.open(self.session_id)
        if self._log is session:
            return
        self.leave()
        self._log = session
        self.position = session.last_id if position is None else position
        while self.position < session.last_id:
            found = await log.read(session, self.position, limits.EVENTS_PAGE_MAX)
            for event_id, line in found:
                self._take(event_id, line)
            if not found:
                self.position = session.last_id
        session.attach(self)

    def leave(self) -> None:
        if self._log is not None:
            self._log.detach(self)
            self._log = None

    def deliver(self, batch: Batch) -> None:
        for event_id, line in enumerate(batch.lines, batch.first_id):
            self._take(event_id, line)

    def resync(self) -> None:
        """The machine lost events; nobody can copy those."""

    def _take(self, event_id: int, line: str) -> None:
        self.position = event_id
        event = object_of(line)
        if event is None:
            return
        if event["type"] == "user_message":
            self._said(event)
        elif event["type"] == "approval_resolved":
            self._hears.settled(self, event_id, event)
        elif self.current is not None and self._is_ours(event):
            self._hears.heard(self, *self.current, event_id, event)

    def _is_ours(self, event: Json) -> bool:
        """Whether it is of the current ask. A turn that nobody knows says no more than none."""
        return self._is_answering and event.get("turn_id") not in self._other_turns

    def _said(self, event: Json) -> None:
        """Ours, or somebody's who talks to the person directly."""
        turn_id = event.get("turn_id")
        if self.current is not None:
            round_, ask = self.current
            if event.get("client_message_id") == round_.key(ask):
                self._turn_id = turn_id if isinstance(turn_id, str) else None
                self._is_answering = True
                return
        if isinstance(turn_id, str):
            self._other_turns.append(turn_id)
