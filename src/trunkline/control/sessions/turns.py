"""Turns: one user message until its terminal event. The records behind delivery and history."""

from typing import Any

import msgspec
from sqlalchemy import and_, insert, select, update
from sqlalchemy.exc import IntegrityError

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.ids import new_id
from trunkline.control.machines.commands import Say
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

OPEN = ("queued", "sent")
_HISTORY_TURNS = 20


class Turn(msgspec.Struct, frozen=True):
    id: str
    session_id: str
    state: str
    message: str
    metadata: dict[str, Any]
    answer: str | None
    created_at: int
    finished_at: int | None


_COLUMNS = [schema.turns.c[name] for name in Turn.__struct_fields__]


class Turns:
    """The turns of all sessions."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def open(
        self, session_id: str, message: str, metadata: dict[str, Any], client_id: str | None
    ) -> tuple[Turn, bool]:
        """A new turn, or the one that the same client message opened before."""
        turn = Turn(new_id(), session_id, "queued", message, metadata, None, self._clock(), None)
        row = {**msgspec.structs.asdict(turn), "client_message_id": client_id}
        try:
            async with self._store.write() as connection:
                await connection.execute(insert(schema.turns).values(row))
        except IntegrityError:
            known = None if client_id is None else await self.named(session_id, client_id)
            if known is None:
                raise
            return known, False
        return turn, True

    async def named(self, session_id: str, client_id: str) -> Turn | None:
        """The turn that a client's message of that name has opened already."""
        table = schema.turns
        wanted = and_(table.c.session_id == session_id, table.c.client_message_id == client_id)
        async with self._store.read() as connection:
            row = (await connection.execute(select(*_COLUMNS).where(wanted))).one_or_none()
        return None if row is None else Turn(*row)

    async def is_known(self, session_id: str, client_id: str) -> bool:
        """Whether a message of that name has opened a turn already."""
        return await self.named(session_id, client_id) is not None

    async def sent(self, session_id: str, turn_id: str, *, settles: bool = True) -> None:
        """The machine has it (unless it finished in the same moment). `settles`: an end without a
        name is this turn's from now on, so no older one is owed."""
        table = schema.turns
        older = and_(table.c.session_id == session_id, table.c.id != turn_id, table.c.owed)
        async with self._store.write() as connection:
            await connection.execute(
                update(table)
                .where(and_(table.c.id == turn_id, table.c.state == "queued"))
                .values(state="sent")
            )
            if settles:
                await connection.execute(update(table).where(older).values(owed=False))

    async def finish(
        self, turn_id: str, state: str, answer: str | None, *, owed: bool = False
    ) -> None:
        """Ends an open turn. `owed`: its machine may yet send an end of its own."""
        table = schema.turns
        async with self._store.write() as connection:
            await connection.execute(
                update(table)
                .where(table.c.id == turn_id, table.c.state.in_(OPEN))
                .values(state=state, answer=answer, finished_at=self._clock(), owed=owed)
            )

    async def paid(self, turn_id: str) -> None:
        """The end that the machine owed has come."""
        table = schema.turns
        async with self._store.write() as connection:
            await connection.execute(
                update(table).where(table.c.id == turn_id, table.c.owed).values(owed=False)
            )

    async def open_of(self, session_ids: list[str]) -> list[Turn]:
        """The unfinished turns of these sessions, oldest first."""
        table = schema.turns
        found: list[Turn] = []
        async with self._store.read() as connection:
            for start in range(0, len(session_ids), 500):
                some = session_ids[start : start + 500]
                rows = await connection.execute(
                    select(*_COLUMNS)
                    .where(and_(table.c.session_id.in_(some), table.c.state.in_(OPEN)))
                    .order_by(table.c.id)
                )
                found += [Turn(*row) for row in rows]
        return sorted(found, key=lambda turn: turn.id)

    async def machines_with_open(self) -> list[str]:
        """The machines that owe an end to some turn."""
        turns, sessions = schema.turns, schema.sessions
        async with self._store.read() as connection:
            found = await connection.scalars(
                select(sessions.c.machine_id)
                .join(turns, turns.c.session_id == sessions.c.id)
                .where(turns.c.state.in_(OPEN), sessions.c.machine_id.is_not(None))
                .distinct()
            )
            return list(found)

    async def recent(self, session_id: str, limit: int = _HISTORY_TURNS) -> list[Turn]:
        """The newest turns, in the order in which they were said."""
        table = schema.turns
        async with self._store.read() as connection:
            rows = await connection.execute(
                select(*_COLUMNS)
                .where(table.c.session_id == session_id)
                .order_by(table.c.id.desc())
                .limit(limit)
            )
            return [Turn(*row) for row in rows][::-1]


def history_of(turns: list[Turn]) -> list[dict[str, Any]]:
    """The `history` of 000 §5.5: the newest messages that fit beside a message in one frame."""
    kept: list[dict[str, Any]] = []
    room = limits.HISTORY_BYTES_MAX
    for message in reversed(messages_of(turns)):
        room -= len(message["content"].encode())
        if room < 0:
            break
        kept.append(message)
    if kept and kept[-1]["role"] == "assistant":
        kept.pop()  # an answer whose question did not fit
    return kept[::-1]


def messages_of(turns: list[Turn]) -> list[dict[str, Any]]:
    """Turns as a conversation."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        messages.append({"role": "user", "content": turn.message})
        if turn.answer:
            messages.append({"role": "assistant", "content": turn.answer})
    return messages


def say(turn: Turn, history: list[dict[str, Any]]) -> Say:
    """The turn as a command to its machine."""
    return Say(turn.session_id, turn.id, turn.message, history, turn.metadata)
