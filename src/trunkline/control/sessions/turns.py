"""Turns as records: one user message until its terminal event. Written by `projection`."""

from typing import Any, Literal

import msgspec
from sqlalchemy import and_, select

from trunkline import limits
from trunkline.control.sessions.projection import Projection
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.wire.commands import Say

OPEN = ("queued", "sent")
_HISTORY_TURNS = 20


class Turn(msgspec.Struct, frozen=True):
    id: str
    session_id: str
    state: Literal["queued", "sent", "completed", "cancelled", "failed", "steering", "steered"]
    message: str
    metadata: dict[str, Any]
    steers: str | None
    """The running turn that the message is for, where it opens none of its own."""
    answer: str | None
    created_at: int
    finished_at: int | None


_COLUMNS = [schema.turns.c[name] for name in Turn.__struct_fields__]


class Turns:
    """The turns of all sessions, as far as their events are committed."""

    def __init__(self, store: Store, projection: Projection) -> None:
        self._store = store
        self._projection = projection

    async def named(self, session_id: str, client_id: str) -> Turn | None:
        """The turn that a client's message of that name has opened already."""
        table = schema.turns
        wanted = and_(table.c.session_id == session_id, table.c.client_message_id == client_id)
        await self._projection.settled(session_id)
        async with self._store.read() as connection:
            row = (await connection.execute(select(*_COLUMNS).where(wanted))).one_or_none()
        return None if row is None else Turn(*row)

    async def metadata(self, session_id: str, message_id: str) -> dict[str, Any] | None:
        """What a message has besides its text: one that opened a turn, by that one's id, or one to
        a turn that ran. None where there is no such message."""
        table = schema.turns
        await self._projection.settled(session_id)
        wanted = table.c.session_id == session_id, table.c.id == message_id
        found: dict[str, Any] | None = await self._store.scalar(
            select(table.c.metadata).where(*wanted)
        )
        return found

    async def recent(self, session_id: str, limit: int = _HISTORY_TURNS) -> list[Turn]:
        """The newest turns, in the order in which they were said."""
        table = schema.turns
        await self._projection.settled(session_id)
        async with self._store.read() as connection:
            rows = await connection.execute(
                select(*_COLUMNS)
                .where(table.c.session_id == session_id)
                .order_by(table.c.id.desc())
                .limit(limit)
            )
            return [Turn(*row) for row in rows][::-1]

    async def say(self, session_id: str, turn_id: str) -> Say | None:
        """The turn as a command to its machine, with what was said before it."""
        table = schema.turns
        this, before = table.c.id == turn_id, table.c.id < turn_id
        in_session = select(*_COLUMNS).where(table.c.session_id == session_id)
        earlier = in_session.where(before).order_by(table.c.id.desc()).limit(_HISTORY_TURNS)
        await self._projection.settled(session_id)
        async with self._store.read() as connection:
            row = (await connection.execute(in_session.where(this))).one_or_none()
            history = [Turn(*one) for one in await connection.execute(earlier)][::-1]
        if row is None:
            return None
        turn = Turn(*row)
        return Say(session_id, turn.id, turn.message, history_of(history), turn.metadata)


def history_of(turns: list[Turn]) -> list[dict[str, Any]]:
    """The `history` of a message: the newest messages that fit beside it in one frame."""
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
    """Turns as a conversation; what was said to a running turn stands before its answer."""
    messages: list[dict[str, Any]] = []
    for turn in (one for one in turns if one.steers is None):
        said = [turn, *(one for one in turns if one.steers == turn.id)]
        messages += [{"role": "user", "content": one.message} for one in said]
        if turn.answer:
            messages.append({"role": "assistant", "content": turn.answer})
    return messages
