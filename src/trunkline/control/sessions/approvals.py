"""Questions of a session to a person, as records. Read here, written by `projection`."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, exists, or_, select, tuple_
from sqlalchemy.orm import aliased

from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import Conflict, NotFound
from trunkline.control.records.page import visible
from trunkline.control.sessions.projection import Projection
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.wire.event_types import Asked


class Approval(msgspec.Struct, frozen=True):
    id: str
    session_id: str
    user_id: str
    request_id: str
    state: Literal["pending", "confirmed", "denied"]
    request: Asked
    answer: Any
    answered_by: str | None
    answered_at: int | None
    created_at: int

    @property
    def is_cut(self) -> bool:
        """Whether less arrived than is asked, or more than every client can show: nobody can say
        yes to what was not shown."""
        size = len(msgspec.json.encode(self.request))
        return bool(self.request.get("truncated")) or size > limits.QUESTION_BYTES_MAX


_COLUMNS = [schema.approvals.c[name] for name in Approval.__struct_fields__]


class Approvals:
    """The questions of all sessions, as far as their events are committed."""

    def __init__(self, store: Store, projection: Projection) -> None:
        self._store = store
        self._projection = projection

    async def page(
        self,
        who: Principal,
        state: str | None = "pending",
        limit: int = 50,
        cursor: str | None = None,
        session_id: str | None = None,
        *,
        members: bool = True,
        newest: bool = False,
    ) -> list[Approval]:
        """Oldest first, or the `newest`. Without `members`: a question of a person in a group
        stands there once, as the group's, and not as its own session's too."""
        table, sessions = schema.approvals, schema.sessions
        wanted = [] if state is None else [table.c.state == state]
        if state == "answered":
            wanted = [table.c.state != "pending"]
        if session_id is not None:
            wanted.append(table.c.session_id == session_id)
        if cursor is not None:
            wanted.append(table.c.id < cursor if newest else table.c.id > cursor)
        if not members:
            wanted.append(~_is_asked_in_a_group())
        wanted.append(visible(who, sessions.c.org_id, table.c.user_id, shared=False))
        await self._projection.settled(session_id)  # who answers what was just shown finds it
        query = (
            select(*_COLUMNS)
            .join(sessions, sessions.c.id == table.c.session_id)
            .where(*wanted)
            .order_by(table.c.id.desc() if newest else table.c.id)
            .limit(limit)
        )
        async with self._store.read() as connection:
            return [Approval(*row) for row in await connection.execute(query)]

    async def named(self, names: Sequence[tuple[str, str]]) -> list[tuple[Approval, str]]:
        """The questions of these sessions and ids, each with its org; whoever may see them."""
        table, sessions = schema.approvals, schema.sessions
        query = (
            select(*_COLUMNS, sessions.c.org_id)
            .join(sessions, sessions.c.id == table.c.session_id)
            .where(tuple_(table.c.session_id, table.c.request_id).in_(names))
            .order_by(table.c.id)
        )
        async with self._store.read() as connection:
            return [(Approval(*row[:-1]), row[-1]) for row in await connection.execute(query)]

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
        await self._projection.settled(session_id)  # who answers what was just shown finds it
        async with self._store.read() as connection:
            found = [Approval(*row) for row in await connection.execute(query)]
        named = [one for one in found if one.id == name]
        waiting = [one for one in found if one.state == "pending"]
        if not found:
            raise NotFound("approval", name)
        if not named and len(waiting) > 1:
            raise Conflict("several sessions ask under this id: name one", code="AMBIGUOUS")
        return (named or waiting or found)[0]


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
