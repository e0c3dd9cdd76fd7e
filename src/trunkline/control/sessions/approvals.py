"""Questions of a session to a person: stored, shown everywhere, answered once.

The first answer wins; it goes to the machine and, as `approval_resolved`, to every reader.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, exists, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, NotFound
from trunkline.control.ids import new_id
from trunkline.control.services.paging import visible
from trunkline.control.sessions.recording import Recording
from trunkline.control.store import schema
from trunkline.control.store.engine import Store


class Approval(msgspec.Struct, frozen=True):
    id: str
    session_id: str
    user_id: str
    request_id: str
    state: str  # pending | confirmed | denied
    request: dict[str, Any]
    answer: Any
    answered_by: str | None
    answered_at: int | None
    created_at: int


_COLUMNS = [schema.approvals.c[name] for name in Approval.__struct_fields__]


class Approvals:
    """The records. `Sessions` tells machines and readers."""

    def __init__(self, store: Store, clock: Clock, recording: Recording) -> None:
        self._store = store
        self._clock = clock
        self._recording = recording

    async def _all_there(self, who: Principal, session_id: str | None) -> None:
        """Who answers what was just shown must find it."""
        if session_id is not None:
            await self._recording.done(session_id)
        else:
            await self._recording.done_for(who)

    async def asked(
        self, session_id: str, user_id: str, request_id: str, request: dict[str, Any]
    ) -> Approval:
        """Records a question. The same one again, after a reconnect, is the one that is there."""
        approval = Approval(
            new_id(),
            session_id,
            user_id,
            request_id,
            "pending",
            request,
            None,
            None,
            None,
            self._clock(),
        )
        try:
            async with self._store.write() as connection:
                await connection.execute(
                    insert(schema.approvals).values(msgspec.structs.asdict(approval))
                )
        except IntegrityError:
            table = schema.approvals
            same = and_(table.c.session_id == session_id, table.c.request_id == request_id)
            async with self._store.read() as connection:
                row = (await connection.execute(select(*_COLUMNS).where(same))).one()
            return Approval(*row)
        return approval

    async def page(
        self,
        who: Principal,
        state: str | None = "pending",
        limit: int = 50,
        cursor: str | None = None,
        session_id: str | None = None,
        *,
        members: bool = True,
    ) -> list[Approval]:
        """Oldest first. Without `members`: a question of a person in a group stands there once,
        as the group's, and not as its own session's too."""
        table, sessions = schema.approvals, schema.sessions
        wanted = [] if state is None else [table.c.state == state]
        if session_id is not None:
            wanted.append(table.c.session_id == session_id)
        if cursor is not None:
            wanted.append(table.c.id > cursor)
        if not members:
            wanted.append(~_is_asked_in_a_group())
        wanted.append(visible(who, sessions.c.org_id, table.c.user_id, shared=False))
        await self._all_there(who, session_id)
        query = (
            select(*_COLUMNS)
            .join(sessions, sessions.c.id == table.c.session_id)
            .where(*wanted)
            .order_by(table.c.id)
            .limit(limit)
        )
        async with self._store.read() as connection:
            return [Approval(*row) for row in await connection.execute(query)]

    async def find(self, who: Principal, name: str, session_id: str | None = None) -> Approval:
        """By its id, or by the id that its machine gave the question.

        The latter is unique in its session only: where several wait, the session must be named.
        """
        table, sessions = schema.approvals, schema.sessions
        query = (
            select(*_COLUMNS)
            .join(sessions, sessions.c.id == table.c.session_id)
            .where(
                or_(table.c.id == name, table.c.request_id == name),
                visible(who, sessions.c.org_id, table.c.user_id, shared=False),
            )
            .order_by(table.c.id.desc())
            .limit(limits.PAGE_MAX)
        )
        if session_id is not None:
            query = query.where(table.c.session_id == session_id)
        await self._all_there(who, session_id)
        async with self._store.read() as connection:
            found = [Approval(*row) for row in await connection.execute(query)]
        named = [one for one in found if one.id == name]
        waiting = [one for one in found if one.state == "pending"]
        if not found:
            raise NotFound("approval", name)
        if not named and len(waiting) > 1:
            raise Conflict("several sessions ask under this id: name one", code="AMBIGUOUS")
        return (named or waiting or found)[0]

    async def decide(
        self, approval: Approval, confirmed: bool, answer: Any, by: str | None
    ) -> Approval:
        """Of many answers at once the database lets one through; the others are Conflict."""
        table = schema.approvals
        decided = msgspec.structs.replace(
            approval,
            state="confirmed" if confirmed else "denied",
            answer=answer,
            answered_by=by,
            answered_at=self._clock(),
        )
        async with self._store.write() as connection:
            result = await connection.execute(
                update(table)
                .where(and_(table.c.id == approval.id, table.c.state == "pending"))
                .values(
                    state=decided.state,
                    answer=answer,
                    answered_by=by,
                    answered_at=decided.answered_at,
                )
            )
        if result.rowcount != 1:
            raise Conflict("this question was answered already", code="ALREADY_ANSWERED")
        return decided

    async def resolved(self, session_id: str, request_id: str, confirmed: bool) -> None:
        """The machine says that the question is settled: a timeout, or a cancelled turn."""
        await self._close(session_id, confirmed, schema.approvals.c.request_id == request_id)

    async def drop(self, session_id: str, turn_names: Sequence[str] = ()) -> list[str]:
        """Nobody waits for an answer any more: what is open is denied. Returns the questions.

        With names: what is open in these turns, or in no turn that the question names.
        """
        if not turn_names:
            return await self._close(session_id, False)
        turn = schema.approvals.c.request["turn_id"].as_string()
        return await self._close(session_id, False, or_(turn.is_(None), turn.in_(turn_names)))

    async def _close(
        self, session_id: str, confirmed: bool, *which: ColumnElement[bool]
    ) -> list[str]:
        table = schema.approvals
        async with self._store.write() as connection:
            closed = await connection.scalars(
                update(table)
                .where(table.c.session_id == session_id, table.c.state == "pending", *which)
                .values(state="confirmed" if confirmed else "denied", answered_at=self._clock())
                .returning(table.c.request_id)
            )
            return list(closed)


def _is_asked_in_a_group() -> ColumnElement[bool]:
    """Whether the group that the session sits in asks the same, and has come as far with it."""
    own, copy, seats = schema.approvals, aliased(schema.approvals), schema.group_seats
    source = copy.c.request["group"]
    return exists().where(
        seats.c.member_session_id == own.c.session_id,
        copy.c.session_id == seats.c.session_id,
        copy.c.state == own.c.state,
        source["session_id"].as_string() == own.c.session_id,
        source["request_id"].as_string() == own.c.request_id,
    )
