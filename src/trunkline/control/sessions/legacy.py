"""Records that were written before they were projections: made into ones, once, at a start.

Such a session has no state. Where nothing is open, there is nothing to know; else its log is folded
from the beginning, and the open records are made to agree with it.
"""

from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from trunkline.control.log.log import Log
from trunkline.control.sessions import notes
from trunkline.control.sessions.state import SessionState, TurnEnded, TurnOpened, fold, fold_note
from trunkline.control.store.engine import Store
from trunkline.control.store.schema import approvals, sessions, turns

_OPEN = ("queued", "sent")


async def convert(store: Store, log: Log) -> None:
    """Gives every session without a state its own."""
    async with store.read() as connection:
        rows = (
            await connection.execute(
                select(sessions.c.id, sessions.c.machine_id, sessions.c.status).where(
                    sessions.c.state.is_(None)
                )
            )
        ).all()
    for row in rows:
        state = SessionState(row.machine_id, is_closed=row.status == "closed", is_started=True)
        async with store.write() as connection:
            await _convert(connection, log, row.id, state)


async def _convert(
    connection: AsyncConnection, log: Log, session_id: str, state: SessionState
) -> None:
    head = (await log.heads([session_id])).get(session_id)
    is_open = (turns.c.session_id == session_id) & turns.c.state.in_(_OPEN)
    open_turns = set(await connection.scalars(select(turns.c.id).where(is_open)))
    questions = {
        row.request_id: row
        for row in await connection.execute(
            select(approvals).where(approvals.c.session_id == session_id)
        )
    }
    is_asking = any(row.state == "pending" for row in questions.values())
    if not state.is_closed and (open_turns or is_asking):
        await _fold_again(connection, log, session_id, state, open_turns)
        _recall_answers(state, questions)
    for turn_id in open_turns - set(state.turns):
        # Ended in the log, or never said there.
        lost = (turns.c.id == turn_id) & turns.c.state.in_(_OPEN)
        await connection.execute(update(turns).where(lost).values(state="failed"))
    await connection.execute(
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(
            state=state.encode(),
            folded_id=head.last_id if head is not None else 0,
            folded_note=head.note if head is not None else 0,
        )
    )


async def _fold_again(
    connection: AsyncConnection,
    log: Log,
    session_id: str,
    state: SessionState,
    open_turns: set[str],
) -> None:
    async for page in log.entries(session_id, 0, 0):
        for entry in page:
            for change in fold(state, entry.text, is_note=entry.note > 0):
                if isinstance(change, TurnOpened):
                    # It is not known whether it was sent: it may have been, just before a crash.
                    fold_note(state, notes.Told(change.turn_id))
                elif isinstance(change, TurnEnded) and change.turn_id in open_turns:
                    await connection.execute(
                        update(turns)
                        .where(turns.c.id == change.turn_id)
                        .values(state=change.state, answer=change.answer, finished_at=entry.at)
                    )
    fold_note(state, notes.Heard())


def _recall_answers(state: SessionState, rows: dict[str, Any]) -> None:
    """Answers that were recorded and never logged."""
    for request_id, question in state.questions.items():
        row = rows.get(request_id)
        if row is not None and question.state == "pending" and row.state != "pending":
            question.state, question.answer = row.state, row.answer
            question.is_from_here = True
