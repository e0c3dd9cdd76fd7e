"""Questions of a session to a person: stored, shown everywhere, answered once.

The first answer wins; it goes to the machine and, as `approval_resolved`, to every reader.
"""

from typing import Any

import msgspec
from sqlalchemy import and_, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from trunkline.control.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.errors import Conflict, NotFound
from trunkline.control.ids import new_id
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

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def asked(
        self, session_id: str, user_id: str, request_id: str, request: dict[str, Any]
    ) -> None:
        """Records a question; the same one again (after a reconnect) changes nothing."""
        row = {
            "id": new_id(),
            "session_id": session_id,
            "user_id": user_id,
            "request_id": request_id,
            "state": "pending",
            "request": request,
            "created_at": self._clock(),
        }
        try:
            async with self._store.write() as connection:
                await connection.execute(insert(schema.approvals).values(row))
        except IntegrityError:
            return

    async def page(
        self,
        who: Principal,
        state: str | None = "pending",
        limit: int = 50,
        cursor: str | None = None,
        session_id: str | None = None,
    ) -> list[Approval]:
        table, sessions = schema.approvals, schema.sessions
        wanted = [] if state is None else [table.c.state == state]
        if session_id is not None:
            wanted.append(table.c.session_id == session_id)
        if cursor is not None:
            wanted.append(table.c.id > cursor)
        if not who.is_admin:
            wanted.append(sessions.c.org_id == who.org_id)
        if who.role == "member":
            wanted.append(table.c.user_id == who.user_id)
        query = (
            select(*_COLUMNS)
            .join(sessions, sessions.c.id == table.c.session_id)
            .where(and_(True, *wanted))
            .order_by(table.c.id)
            .limit(limit)
        )
        async with self._store.read() as connection:
            return [Approval(*row) for row in await connection.execute(query)]

    async def find(self, who: Principal, name: str) -> Approval:
        """By its id, or by the id that the machine gave the question."""
        table, sessions = schema.approvals, schema.sessions
        query = (
            select(*_COLUMNS, sessions.c.org_id)
            .join(sessions, sessions.c.id == table.c.session_id)
            .where(or_(table.c.id == name, table.c.request_id == name))
            .order_by(table.c.id.desc())
        )
        async with self._store.read() as connection:
            for *columns, org_id in await connection.execute(query):
                approval = Approval(*columns)
                if who.may_see(org_id=org_id, user_id=approval.user_id):
                    return approval
        raise NotFound("approval", name)

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
        table = schema.approvals
        async with self._store.write() as connection:
            await connection.execute(
                update(table)
                .where(
                    and_(
                        table.c.session_id == session_id,
                        table.c.request_id == request_id,
                        table.c.state == "pending",
                    )
                )
                .values(state="confirmed" if confirmed else "denied", answered_at=self._clock())
            )
