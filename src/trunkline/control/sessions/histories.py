"""Sessions that begin with a history: of another program, or of another session.

The history is committed first, under an id that no record has: nobody can see it. Then one
transaction makes the session, with all that its runtime goes on from. A crash before that leaves no
session, a crash behind it leaves a whole one; what nobody can see is removed at the next start.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from trunkline.control.access.auth import Principal
from trunkline.control.ids import new_id
from trunkline.control.log.log import Log
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.sessions import notes
from trunkline.control.sessions.drafts import Drafts
from trunkline.control.sessions.projection import Projection
from trunkline.control.sessions.records import MadeOf, NewSession, Session, SessionRecords
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.tasks import Tasks

_APPENDED_AT_ONCE = 500  # lines of a history that one commit takes
_APPENDED_CHARS = 1_000_000  # of them, and then the line that is longer

Write = Callable[[str], Awaitable[None]]
"""Commits a history under that session's id."""


class Histories:
    def __init__(
        self,
        sessions: Sessions,
        records: SessionRecords,
        drafts: Drafts,
        machines: Machines,
        log: Log,
        projection: Projection,
        tasks: Tasks,
        ids: Callable[[], str] = new_id,
    ) -> None:
        self._sessions = sessions
        self._records = records
        self._drafts = drafts
        self._machines = machines
        self._log = log
        self._projection = projection
        self._tasks = tasks
        self._new_id = ids

    async def make(
        self,
        who: Principal,
        machine: Machine,
        new: NewSession,
        made_of: MadeOf,
        write: Write,
        record: Callable[[str], dict[str, Any]],
    ) -> Session:
        """The session, started on its machine. `record`: what else its record has, by its id.
        Whoever asked may go away; what was begun is done all the same. IntegrityError: another
        session has what this one was to have alone."""
        making = self._tasks.spawn(
            self._made(who, machine, new, made_of, write, record), "session with a history"
        )
        made: Session | Exception = await asyncio.shield(making)
        if isinstance(made, Exception):
            raise made
        return made

    async def _made(self, *given: Any) -> Session | Exception:
        try:
            return await self._make(*given)
        except Exception as error:
            return error

    async def _make(
        self,
        who: Principal,
        machine: Machine,
        new: NewSession,
        made_of: MadeOf,
        write: Write,
        record: Callable[[str], dict[str, Any]],
    ) -> Session:
        session_id = self._new_id()
        await self._drafts.note([session_id])
        try:
            await write(session_id)
            log = await self._log.open(session_id)
            session = await self._records.insert(
                who, machine, new, made_of, session_id, **record(session_id)
            )
        except BaseException:
            await self._drafts.clear([session_id])
            raise
        states = await self._projection.load([session.id])
        start_now = await self._sessions.start_of(session.id)
        self._machines.add(machine, log, start_now, states[session.id])
        if session.created_by is not None:
            await self._sessions.tell_owner(who, session, machine, log)
        return await self._sessions.get(who, session.id)

    def of(self, lines: Callable[[], AsyncIterable[str | notes.Note]]) -> Write:
        """A history of these events, with what their messages have besides their text."""

        async def write(session_id: str) -> None:
            log = await self._log.open(session_id)
            count = size = 0
            async for line in lines():
                if isinstance(line, str):
                    text = line
                    self._log.append(log, text)
                else:
                    text = notes.encode(line)
                    self._log.note(log, text)
                count, size = count + 1, size + len(text)
                if count >= _APPENDED_AT_ONCE or size > _APPENDED_CHARS:
                    await self._log.committed(log)
                    count = size = 0
            await self._log.committed(log)

        return write
