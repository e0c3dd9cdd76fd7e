"""The rows behind the projection: how each change of a session is written, and its state read."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from itertools import zip_longest
from typing import Any
from uuid import UUID

from msgspec.structs import replace
from sqlalchemy import and_, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline import limits
from trunkline.control.gathering import Gathering
from trunkline.control.services.audit import Audit
from trunkline.control.sessions import state as states
from trunkline.control.sessions.approval_entries import OF_QUESTIONS, ApprovalEntries
from trunkline.control.sessions.projection import Position, Saved, Step
from trunkline.control.sessions.titles import Titled, name_after
from trunkline.control.store.among import among
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import approvals, sessions, turns


class SqlRows:
    """In the record database. `audit`: where questions and answers are entries too; `titled`: is
    told of sessions that are called after a message now."""

    def __init__(
        self,
        store: Store,
        audit: Audit | None = None,
        titled: Callable[[Titled], None] | None = None,
    ) -> None:
        self._store = store
        self._audit = audit
        self._titled = titled
        self._saved = Gathering(self._read)

    async def write(self, steps: Sequence[Step]) -> None:
        """All or nothing, with the positions."""
        entries = None if self._audit is None else ApprovalEntries(self._audit, steps)
        titled: list[Titled] = []
        async with self._store.write() as connection:
            newest: dict[str, Step] = {}
            wanted = among(sessions.c.id, {step.session_id for step in steps})
            columns = sessions.c.id, sessions.c.folded_id, sessions.c.folded_note
            positions = select(*columns, sessions.c.imported_id).where(wanted)
            rows = (await connection.execute(positions)).all()
            reached = {row.id: Position(row.folded_id, row.folded_note) for row in rows}
            imported = {row.id: row.imported_id or 0 for row in rows}
            start = Position()
            for step in steps:
                if step.session_id not in reached:
                    continue  # it was deleted meanwhile
                if start < step.position <= reached[step.session_id]:
                    continue  # tried before, and it was not known how that ended
                for change, event_id in zip_longest(step.changes, step.event_ids):
                    if isinstance(change, states.TurnOpened):
                        titled += await name_after(connection, step.session_id, change.message)
                    await _WRITERS[type(change)](connection, _at(step, event_id), change)
                    is_own = step.position.event_id > imported[step.session_id]
                    if entries is not None and is_own and isinstance(change, OF_QUESTIONS):
                        await entries.note(connection, step, change)
                newest[step.session_id] = step
            for step in newest.values():
                await _set_session(
                    connection,
                    step,
                    state=step.state,
                    folded_id=step.position.event_id,
                    folded_note=step.position.note,
                )
        if self._titled is not None:
            for one in titled:
                self._titled(one)

    async def read(self, session_ids: Sequence[str]) -> dict[str, Saved]:
        return await self._saved.some(session_ids)

    async def _read(self, session_ids: list[str]) -> dict[str, Saved]:
        columns = sessions.c.id, sessions.c.state, sessions.c.folded_id, sessions.c.folded_note
        rows = await self._store.all(select(*columns).where(among(sessions.c.id, session_ids)))
        return {
            row.id: Saved(states.decode(row.state), Position(row.folded_id, row.folded_note))
            for row in rows
        }

    async def open_sessions(self) -> list[str]:
        """Those that are active, and the closed ones whose machine has to be told."""
        wanted = or_(sessions.c.status == "active", sessions.c.unsettled)
        async with self._store.read() as connection:
            return list(await connection.scalars(select(sessions.c.id).where(wanted)))


def _at(step: Step, event_id: int | None) -> Step:
    """The step, as if the change of that event were its last."""
    if event_id is None or event_id == step.position.event_id:
        return step
    return replace(step, position=Position(event_id, step.position.note))


async def _turn_opened(connection: AsyncConnection, step: Step, change: states.TurnOpened) -> None:
    await connection.execute(
        insert(turns).values(
            id=change.turn_id,
            session_id=step.session_id,
            client_message_id=change.client_message_id,
            state="queued",
            message=change.message,
            metadata={},
            said_id=step.position.event_id,
            created_at=step.at,
        )
    )
    await _set_session(connection, step, last_activity_at=step.at)


async def _steered(connection: AsyncConnection, step: Step, change: states.Steered) -> None:
    await connection.execute(
        insert(turns).values(
            id=change.message_id,
            session_id=step.session_id,
            client_message_id=change.client_message_id,
            state="steering",
            message=change.message,
            metadata={},
            steers=change.turn_id,
            said_id=step.position.event_id,
            created_at=step.at,
        )
    )
    await _set_session(connection, step, last_activity_at=step.at)


async def _taken(connection: AsyncConnection, step: Step, change: states.SteerTaken) -> None:
    state = "steered" if change.is_taken else "steering"
    await _set_turn(connection, change.message_id, state=state)


async def _missed(connection: AsyncConnection, step: Step, change: states.SteerMissed) -> None:
    await _set_turn(connection, change.message_id, state="queued", steers=None)


async def _dropped(connection: AsyncConnection, step: Step, change: states.SteerDropped) -> None:
    await _set_turn(connection, change.message_id, state="cancelled", finished_at=step.at)


async def _turn_noted(connection: AsyncConnection, step: Step, change: states.TurnNoted) -> None:
    await _set_turn(connection, change.turn_id, metadata=change.metadata)


async def _turn_told(connection: AsyncConnection, step: Step, change: states.TurnTold) -> None:
    await _set_turn(connection, change.turn_id, state="sent" if change.is_told else "queued")


async def _turn_ended(connection: AsyncConnection, step: Step, change: states.TurnEnded) -> None:
    await _set_turn(
        connection,
        change.turn_id,
        state=change.state,
        answer=change.answer,
        finished_at=step.at,
        ended_id=step.position.event_id,
    )
    await _set_session(
        connection,
        step,
        last_activity_at=step.at,
        last_turn_status=change.state,
        last_turn_ended_at=step.at,
    )


async def _set_turn(connection: AsyncConnection, turn_id: str, **values: Any) -> None:
    await connection.execute(update(turns).where(turns.c.id == turn_id).values(**values))


async def _asked(connection: AsyncConnection, step: Step, change: states.Asked) -> None:
    same = _same(step, change.request_id)
    user_id = await connection.scalar(
        select(sessions.c.user_id).where(sessions.c.id == step.session_id)
    )
    if user_id is None:
        return  # the session was deleted meanwhile
    # Asked under an id of long ago: it is a new question.
    await connection.execute(delete(approvals).where(same))
    await connection.execute(
        insert(approvals).values(
            id=approval_id(step.session_id, change.request_id, step.at),
            session_id=step.session_id,
            user_id=user_id,
            request_id=change.request_id,
            state="pending",
            request=change.request,
            created_at=step.at,
        )
    )
    await _set_session(connection, step, last_activity_at=step.at)


async def _resolved(connection: AsyncConnection, step: Step, change: states.Resolved) -> None:
    await connection.execute(
        update(approvals)
        .where(_same(step, change.request_id))
        .values(state="confirmed" if change.is_confirmed else "denied", answered_at=step.at)
    )


async def _answer_noted(
    connection: AsyncConnection, step: Step, change: states.AnswerNoted
) -> None:
    await connection.execute(
        update(approvals)
        .where(_same(step, change.request_id))
        .values(answer=change.answer, answered_by=change.by)
    )


def _same(step: Step, request_id: str) -> Any:
    return and_(approvals.c.session_id == step.session_id, approvals.c.request_id == request_id)


async def _closed(connection: AsyncConnection, step: Step, change: states.SessionClosed) -> None:
    await _set_session(connection, step, status="closed", unsettled=True, updated_at=step.at)


async def _settled(connection: AsyncConnection, step: Step, change: states.SessionSettled) -> None:
    await _set_session(connection, step, unsettled=False)


async def _moved(connection: AsyncConnection, step: Step, change: states.SessionMoved) -> None:
    this = sessions.c.id == step.session_id
    query = select(sessions.c.machine_id, sessions.c.left_machines).where(this)
    row = (await connection.execute(query)).first()
    if row is not None:
        left = [*(row.left_machines or []), *filter(None, [row.machine_id])]
        await _set_session(
            connection,
            step,
            machine_id=change.machine_id,
            left_machines=left[-limits.SESSION_LEFT_MACHINES_MAX :],
            updated_at=step.at,
        )


async def _set_session(connection: AsyncConnection, step: Step, **values: Any) -> None:
    this = sessions.c.id == step.session_id
    await connection.execute(update(sessions).where(this).values(**values))


_WRITERS: dict[type, Callable[..., Awaitable[None]]] = {
    states.TurnOpened: _turn_opened,
    states.Steered: _steered,
    states.SteerTaken: _taken,
    states.SteerMissed: _missed,
    states.SteerDropped: _dropped,
    states.TurnNoted: _turn_noted,
    states.TurnTold: _turn_told,
    states.TurnEnded: _turn_ended,
    states.Asked: _asked,
    states.Resolved: _resolved,
    states.AnswerNoted: _answer_noted,
    states.SessionClosed: _closed,
    states.SessionMoved: _moved,
    states.SessionSettled: _settled,
}


def approval_id(session_id: str, request_id: str, at: int) -> str:
    """The same for the same question, however often the log is folded; sorts by time, like every
    id (`ids.new_id`)."""
    digest = hashlib.sha256(f"{session_id} {request_id}".encode("utf-8", "replace")).digest()
    value = at << 80 | int.from_bytes(digest[:10], "big")
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return str(UUID(int=value & (2**128 - 1)))
