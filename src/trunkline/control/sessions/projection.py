"""The records of turns, approvals and sessions: projections of the log, each with its position.

Live, changes come in behind their commit; at a start, and after a fault, the log is read on from
the position that the records have reached. Both ways they are made by the same fold and written
by the same code, in one transaction with the position.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec
import structlog

from trunkline.control.log.log import Log
from trunkline.control.sessions.state import Change, SessionState, fold
from trunkline.control.store import causes
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.control.watchers import Watchers
from trunkline.wire.errors import Malformed

_log = structlog.get_logger(__name__)

_SESSIONS_AT_ONCE = 500


class Position(msgspec.Struct, frozen=True, order=True):
    """How far a session's log is folded: this event and this note, and all before them."""

    event_id: int = 0
    note: int = 0


class Step(msgspec.Struct, frozen=True):
    """What one commit means for a session's records."""

    session_id: str
    position: Position
    at: int
    changes: Sequence[Change]
    state: bytes
    """The session's state at that position."""
    event_ids: Sequence[int] = ()
    """Of the events that the changes are made of; without them, of the position."""


class Saved(NamedTuple):
    """What the records hold of a session's state."""

    state: SessionState
    position: Position


class Rows(Protocol):
    """Where the records are."""

    async def write(self, steps: Sequence[Step]) -> None:
        """All or nothing, with the positions."""

    async def read(self, session_ids: Sequence[str]) -> dict[str, Saved]: ...

    async def open_sessions(self) -> list[str]:
        """Those that are active, and the closed ones whose machine has to be told."""


class Projection:
    """The one writer of these records."""

    def __init__(
        self,
        rows: Rows,
        log: Log,
        tasks: Tasks,
        tuning: Tuning = DEFAULT,
        written: Watchers[Sequence[Step]] | None = None,
    ) -> None:
        """`written`: told of the steps that are in the records now."""
        self._rows = rows
        self._log = log
        self._tasks = tasks
        self._tuning = tuning
        self._steps: list[tuple[int, Step]] = []
        self._added = 0
        self._pending: dict[int, str] = {}
        """The sessions of the steps that are not written yet, by the step's number."""
        self._waiting: list[tuple[str | None, int, asyncio.Future[None]]] = []
        self._is_running = False
        self._written = written or Watchers()

    def add(self, step: Step) -> None:
        """Takes a step whose entries are committed."""
        self._added += 1
        self._steps.append((self._added, step))
        self._pending[self._added] = step.session_id
        if not self._is_running:
            self._is_running = True
            self._tasks.spawn(self._run(), "records")

    async def settled(self, session_id: str | None = None) -> None:
        """Returns when the records say what the session's (or every session's) events up to now
        mean. Not for ever: who asks while the database hangs is told what it knows."""
        if self._is_settled(session_id, self._added):
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = session_id, self._added, done
        self._waiting.append(waiter)
        await asyncio.wait([done], timeout=self._tuning.records_wait_s)
        if waiter in self._waiting:
            self._waiting.remove(waiter)

    def _is_settled(self, session_id: str | None, upto: int) -> bool:
        """Whether all steps up to that number are written."""
        return not any(
            number <= upto and session_id in (None, session)
            for number, session in self._pending.items()
        )

    async def _run(self) -> None:
        try:
            while self._steps:
                steps, self._steps = self._steps, []
                failed = await self._write_all([step for _, step in steps])
                for number, step in steps:
                    if step.session_id not in failed:
                        del self._pending[number]
                self._wake()
                self._written.tell([step for _, step in steps if step.session_id not in failed])
                if failed:
                    again = [one for one in steps if one[1].session_id in failed]
                    self._steps[:0] = again  # before what came meanwhile
                    await asyncio.sleep(self._tuning.retry_s)
        finally:
            self._is_running = False

    def _wake(self) -> None:
        for waiter in list(self._waiting):
            session_id, upto, done = waiter
            if self._is_settled(session_id, upto):
                self._waiting.remove(waiter)
                if not done.done():
                    done.set_result(None)

    async def _write_all(self, steps: list[Step]) -> set[str]:
        """In one transaction; session by session where that fails, so that one that cannot be
        written holds up no other. Returns the sessions that have to be tried again."""
        try:
            await self._rows.write(steps)
            return set()
        except Exception as error:
            if causes.is_refusal(error):  # none of them can be written, and the store has said so
                return {step.session_id for step in steps}
            _log.exception("records cannot be written together; trying one by one")
        by_session: dict[str, list[Step]] = {}
        for step in steps:
            by_session.setdefault(step.session_id, []).append(step)
        failed: set[str] = set()
        for session_id, some in by_session.items():
            try:
                await self._rows.write(some)
            except Exception:
                _log.exception("records cannot be written; trying again", session=session_id)
                failed.add(session_id)
        return failed

    # What is on disk

    async def load(self, session_ids: Sequence[str]) -> dict[str, SessionState]:
        """The states of these sessions, which nobody has in memory, caught up with the log. One
        whose log cannot be understood is left out."""
        saved = await self._rows.read(session_ids)
        heads = await self._log.heads(list(saved))
        loaded: dict[str, SessionState] = {}
        for session_id, (state, position) in saved.items():
            head = heads.get(session_id)
            if head is not None and position < Position(head.last_id, head.note):
                try:
                    await self._catch_up(session_id, state, position)
                except (Malformed, msgspec.MsgspecError):
                    # As after a return to an older version: the others are not to suffer from it.
                    _log.exception("a session's log cannot be read", session=session_id)
                    continue
            loaded[session_id] = state
        return loaded

    async def _catch_up(self, session_id: str, state: SessionState, position: Position) -> None:
        """Folds what the log has behind that position, and writes what it means."""
        async for page in self._log.entries(session_id, position.event_id, position.note):
            changes: list[Change] = []
            steps: list[Step] = []
            for entry in page:
                changes = fold(state, entry.text, is_note=entry.note > 0)
                position = Position(
                    max(position.event_id, entry.event_id), max(position.note, entry.note)
                )
                if changes:
                    steps.append(Step(session_id, position, entry.at, changes, b""))
            last = Step(session_id, position, page[-1].at, (), state.encode())
            await self._rows.write([*steps, last])

    async def recover(self) -> list[str]:
        """At the start, before anybody is let in: the records of every open session catch up with
        its log. Returns the machines that have open turns."""
        machines: dict[str, None] = {}
        open_ids = await self._rows.open_sessions()
        for start in range(0, len(open_ids), _SESSIONS_AT_ONCE):
            loaded = await self.load(open_ids[start : start + _SESSIONS_AT_ONCE])
            for state in loaded.values():
                if state.machine_id is not None and state.turns:
                    machines[state.machine_id] = None
        return list(machines)
