"""Where persons sit: the session in which each takes part in a group's conversation. Records."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

_seats, _sessions, _turns = schema.group_seats, schema.sessions, schema.turns


class SeatRecord(msgspec.Struct):
    session_id: str
    """The group's conversation."""
    person_id: str
    member_session_id: str
    heard_id: int
    copied_id: int


class MemberTurn(msgspec.Struct):
    """A turn of a person's session."""

    id: str
    key: str | None
    """The ask that it came of; of somebody who talks to the person directly, anything."""
    state: str


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

    async def turns(self, member_session_id: str) -> list[MemberTurn]:
        """The newest turns of a person's session, in their order."""
        query = (
            select(_turns.c.id, _turns.c.client_message_id, _turns.c.state)
            .where(_turns.c.session_id == member_session_id)
            .order_by(_turns.c.id.desc())
            .limit(limits.PAGE_MAX)
        )
        async with self._store.read() as connection:
            return [MemberTurn(*row) for row in await connection.execute(query)][::-1]

    async def answer(self, turn_id: str) -> str:
        found = await self._store.scalar(select(_turns.c.answer).where(_turns.c.id == turn_id))
        return found or ""

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
