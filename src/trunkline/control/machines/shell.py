"""Does what the core wants done, always in the same order: append, commit, apply, send.

Events and notes go into the log at once and in order. What they mean for the records, and every
command to a machine, waits until they are committed: nothing is told that a crash could take back.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Protocol

import structlog

from trunkline.control.clock import Clock, Seconds
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.actions import (
    Action,
    Append,
    Departed,
    Fetch,
    Load,
    Look,
    Recall,
    Released,
    Send,
    Skip,
    Status,
    Time,
)
from trunkline.control.machines.machine import Line, Machine
from trunkline.control.sessions.projection import Position, Projection, Step
from trunkline.control.sessions.state import Change, SessionState
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.wire.commands import MOVED, Command, Say, Start

_log = structlog.get_logger(__name__)

Starter = Callable[[str], Awaitable[Start | None]]
"""Makes the `Start` of a session; None when there is nothing to start any more."""


class Sessions(Protocol):
    """Which sessions are whose (`sessions/placement.py`)."""

    async def gone_from(self, machine_id: str, session_ids: Iterable[str]) -> dict[str, str]:
        """Which of these do not belong there any more, with their status."""

    async def departed(self, machine_id: str) -> dict[str, str]:
        """The newest that were moved away from there, with their status."""

    async def unsettled(self, machine_id: str) -> list[str]:
        """The closed ones that the machine has to be told to end."""


class Messages(Protocol):
    """What was said (`sessions/turns.py`)."""

    async def say(self, session_id: str, turn_id: str) -> Say | None: ...


class Shell:
    """One for all machines."""

    def __init__(
        self,
        log: Log,
        projection: Projection,
        sessions: Sessions,
        messages: Messages,
        starter: Starter,
        tasks: Tasks,
        clock: Clock,
        time: Time,
        now: Seconds,
        tuning: Tuning = DEFAULT,
    ) -> None:
        self._log = log
        self._projection = projection
        self._sessions = sessions
        self._messages = messages
        self._starter = starter
        self._tasks = tasks
        self._clock = clock
        self._time = time
        self._now = now
        self._tuning = tuning
        self._at_work: set[str] = set()
        """Machines whose actions are being run: what these lead to is run behind them."""

    def tell_time(self) -> None:
        self._time.ms, self._time.s = self._clock(), self._now()

    def run(self, machine: Machine) -> None:
        if machine.id in self._at_work:
            return
        self._at_work.add(machine.id)
        try:
            out = machine.core.out
            while out:
                actions = out[:]
                out.clear()
                self._run(machine, actions)
        finally:
            self._at_work.discard(machine.id)

    def _run(self, machine: Machine, actions: list[Action]) -> None:
        self._write(machine, actions)
        for action in actions:
            match action:
                case Send():
                    self._send(machine, action.command)
                case Released():
                    machine.let_go(action.session_id)
                case Fetch():
                    work = self._fetch(machine, action.session_id, machine.core.state.line_number)
                    self._tasks.spawn(work, "session start")
                case Load():
                    work = self._load(machine, action.session_id, action.turn_id)
                    self._tasks.spawn(work, "message to tell again")
                case Look():
                    self._tasks.spawn(self._look(machine, action.session_ids), "stray sessions")
                case Departed():
                    self._tasks.spawn(self._departed(machine), "sessions that were moved")
                case Recall():
                    self._tasks.spawn(self._recall(machine), "closed sessions")

    def _write(self, machine: Machine, actions: list[Action]) -> None:
        """What the log is given, in its order. The records follow its commit, and then whatever
        is sent."""
        written: dict[str, tuple[SessionLog, list[Change], list[int], SessionState]] = {}
        for action in actions:
            match action:
                case Append():
                    log = self._append(machine, action)
                    known = written.setdefault(action.session_id, (log, [], [], action.state))
                    known[1].extend(action.changes)
                    known[2].extend([log.tail_id + len(log.pending)] * len(action.changes))
                case Skip():
                    self._log.taken(machine.logs[action.session_id])
                case Status():
                    self._tell_readers(machine, action)
        for session_id, (log, changes, event_ids, state) in written.items():
            position = Position(log.tail_id + len(log.pending), log.last_note)
            what = session_id, position, changes, state.encode(), event_ids
            committed = partial(self._committed, what)
            self._log.after_commit(log, committed)
            machine.look(session_id)

    def _append(self, machine: Machine, action: Append) -> SessionLog:
        log = machine.logs[action.session_id]
        if action.is_note:
            self._log.note(log, action.text)
        else:
            self._log.append(log, action.text)
        return log

    def _committed(
        self, what: tuple[str, Position, list[Change], bytes, list[int]], at: int
    ) -> None:
        session_id, position, changes, state, event_ids = what
        self._projection.add(Step(session_id, position, at, changes, state, event_ids))

    def _send(self, machine: Machine, command: Command) -> None:
        line, log = machine.line, machine.logs.get(command.session_id)
        if line is None:
            return
        deliver = partial(self._deliver, machine, line, command)
        if log is None:
            deliver(0)
        else:
            self._log.after_commit(log, deliver)

    def _deliver(self, machine: Machine, line: Line, command: Command, _at: int) -> None:
        if machine.line is line:
            try:
                line.deliver(command)
            except Exception:
                _log.exception("a command was not delivered", machine=machine.id)

    def _tell_readers(self, machine: Machine, status: Status) -> None:
        line = events.make("session_status", self._time.ms, **status.fields)
        if status.session_id is not None:
            self._log.append(machine.logs[status.session_id], line)
            return
        for log in machine.logs.values():
            if log.readers:
                self._log.append(log, line)

    # What has to be read first

    async def _fetch(self, machine: Machine, session_id: str, line_number: int) -> None:
        while machine.core.state.line_number == line_number:
            try:
                start = await self._starter(session_id)
                break
            except Exception:
                _log.exception("a session cannot be started yet", session=session_id)
                await asyncio.sleep(self._tuning.retry_s)
        else:
            return
        with machine.input() as core:
            core.fetched(session_id, line_number, start)

    async def _load(self, machine: Machine, session_id: str, turn_id: str) -> None:
        say: Say | None = None
        while say is None and machine.core.is_unsaid(session_id, turn_id):
            try:
                say = await self._messages.say(session_id, turn_id)
            except Exception:
                _log.exception("a message cannot be read", session=session_id, turn=turn_id)
            if say is None:
                await asyncio.sleep(self._tuning.retry_s)
        with machine.input() as core:
            core.loaded(session_id, say)

    async def _look(self, machine: Machine, session_ids: frozenset[str]) -> None:
        gone = await self._sessions.gone_from(machine.id, session_ids)
        if not machine.core.state.traits.starts:
            # Where sessions need not be started from here, they may be another server's.
            gone = {one: status for one, status in gone.items() if status != "unknown"}
        self._stop(machine, gone)

    async def _departed(self, machine: Machine) -> None:
        self._stop(machine, await self._sessions.departed(machine.id))

    def _stop(self, machine: Machine, gone: dict[str, str]) -> None:
        """`gone`: sessions that are not the machine's any more, with their status."""
        reasons = {one: "user_closed" if gone[one] == "closed" else MOVED for one in gone}
        with machine.input() as core:
            core.stop_strays(reasons)

    async def _recall(self, machine: Machine) -> None:
        """Sessions that were closed while the machine was given up."""
        await self.host(machine, await self._sessions.unsettled(machine.id))

    async def host(self, machine: Machine, session_ids: list[str]) -> None:
        """Takes these sessions, which nobody has in memory, into the machine's."""
        missing = [one for one in session_ids if one not in machine.logs]
        states = await self._projection.load(missing)
        logs = await self._log.open_all(states)
        with machine.input() as core:
            for session_id, state in states.items():
                if session_id not in machine.logs:
                    machine.take(logs[session_id])
                    core.adopt(session_id, state)
