"""Where a person sits in a conversation: the record of its own session there, and what it is doing.

It is asked one thing at a time, and heard as a reader of its session. Knows which events answer
which ask; what they mean for the group is the conversation's business.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import ColumnElement, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound
from trunkline.control.groups.copying import Json, object_of
from trunkline.control.groups.listener import Listener
from trunkline.control.groups.round import Ask, Round
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

if TYPE_CHECKING:
    from trunkline.control.groups.conversation import Conversation

_seats, _sessions = schema.group_seats, schema.sessions


class SeatRecord(msgspec.Struct):
    session_id: str
    """The group's conversation."""
    person_id: str
    member_session_id: str
    heard_id: int
    copied_id: int


class Seats:
    """The table."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def of(self, session_id: str) -> dict[str, SeatRecord]:
        """By person."""
        columns = [_seats.c[name] for name in SeatRecord.__struct_fields__]
        query = select(*columns).where(_seats.c.session_id == session_id)
        found = [SeatRecord(*row) for row in await self._store.all(query)]
        return {one.person_id: one for one in found}

    async def put(self, seat: SeatRecord) -> None:
        """The seat of that person, in place of one before. NotFound: there is no such person."""
        row = {**msgspec.structs.asdict(seat), "created_at": self._clock()}
        try:
            async with self._store.write() as connection:
                await connection.execute(delete(_seats).where(_same(seat)))
                await connection.execute(insert(_seats).values(row))
        except IntegrityError as error:
            raise NotFound("person", seat.person_id) from error

    async def told(self, seat: SeatRecord) -> None:
        """The person was asked: what it was told of, and where its answer begins."""
        await self._store.run(
            update(_seats)
            .where(_same(seat), _seats.c.member_session_id == seat.member_session_id)
            .values(heard_id=seat.heard_id, copied_id=seat.copied_id)
        )

    async def sessions_of(self, **wanted: str) -> Sequence[str]:
        """The open sessions of persons, by `person_id`, `session_id` or `group_id`."""
        group_id = wanted.pop("group_id", None)
        conditions: list[ColumnElement[bool]] = [
            _seats.c[name] == value for name, value in wanted.items()
        ]
        member, conversation = aliased(_sessions), aliased(_sessions)
        if group_id is not None:
            conditions.append(conversation.c.machine_id == group_id)
        query = (
            select(member.c.id)
            .join(_seats, _seats.c.member_session_id == member.c.id)
            .join(conversation, conversation.c.id == _seats.c.session_id)
            .where(member.c.status == "active", *conditions)
        )
        return await self._store.scalars(query)

    async def left_over(self) -> list[tuple[str, str, str]]:
        """Open sessions of persons whose conversation is closed, or that never got their seat: a
        crash came between. Each with its user and org."""
        member, conversation = aliased(_sessions), aliased(_sessions)
        group = member.c.session_config["group"]["session_id"].as_string()
        query = (
            select(member.c.id, member.c.user_id, member.c.org_id)
            .outerjoin(_seats, _seats.c.member_session_id == member.c.id)
            .outerjoin(conversation, conversation.c.id == _seats.c.session_id)
            .where(
                member.c.status == "active",
                group.is_not(None),
                or_(conversation.c.id.is_(None), conversation.c.status == "closed"),
            )
        )
        return [tuple(row) for row in await self._store.all(query)]


def _same(seat: SeatRecord) -> ColumnElement[bool]:
    return (_seats.c.session_id == seat.session_id) & (_seats.c.person_id == seat.person_id)


class Seat(Listener):
    def __init__(self, record: SeatRecord | None, conversation: "Conversation") -> None:
        super().__init__()
        self.record = record
        self.current: tuple[Round, Ask] | None = None
        self.waiting: deque[tuple[Round, Ask]] = deque()
        self._conversation = conversation
        self._log: SessionLog | None = None
        self._turn_id: str | None = None
        self._is_answering = False
        """Whether what comes now is of the current ask."""
        self._other_turns: deque[str] = deque(maxlen=limits.PAGE_MAX)

    def next(self) -> tuple[Round, Ask] | None:
        """Takes up what waits, if nothing runs."""
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

    def knows(self, turn_ids: Iterable[str]) -> None:
        """Turns that its session had before: what comes of them is nobody's."""
        self._other_turns.extend(turn_ids)

    def was_asked(self, turn_id: str) -> None:
        """That turn is the current ask's."""
        self._turn_id = turn_id
        if turn_id in self._other_turns:
            self._other_turns.remove(turn_id)

    def answers_now(self) -> None:
        """The ask is known to be the session's newest message."""
        self._is_answering = True

    def end(self, event: Json) -> None:
        """The current ask has an end that its log does not show."""
        if self.current is not None:
            self._conversation.heard(self, *self.current, self.position, event)

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
        """Hears its session after that event; None: from now on. If it does already, it goes on
        as it was."""
        session = await log.open(self.session_id)
        if self._log is not session:
            self.leave()
            self._log = session
            await self.listen(log, session, session.last_id if position is None else position)

    @property
    def is_following(self) -> bool:
        return self._log is not None

    def leave(self) -> None:
        if self._log is not None:
            self._log.detach(self)
            self._log = None

    def hear(self, event_id: int, line: str) -> None:
        event = object_of(line)
        if event is None:
            return
        if event["type"] == "user_message":
            if "steers" not in event:  # what is said to a turn that runs opens none
                self._said(event)
        elif event["type"] == "steer_missed":
            self._said(event)
        elif event["type"] == "approval_resolved":
            self._conversation.settled(self, event_id, event)
        elif self.current is not None and self._is_ours(event):
            self._conversation.heard(self, *self.current, event_id, event)

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
