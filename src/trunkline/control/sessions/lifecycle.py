"""Up: what a session's events mean for its turns, and what becomes of it when machines go.

The machine edges report here; it writes turns and the control plane's own events.
"""

import asyncio
from typing import Any

import msgspec
import structlog

from trunkline import limits
from trunkline.control.clock import Clock
from trunkline.control.log import events
from trunkline.control.log.log import Log, SessionLog
from trunkline.control.machines.commands import MOVED, Command, Say, Start, Stop
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.sessions.questions import Questions
from trunkline.control.sessions.recording import Recording, Work
from trunkline.control.sessions.records import SessionRecords
from trunkline.control.sessions.turns import Turns
from trunkline.control.tasks import Tasks

_log = structlog.get_logger(__name__)


class Lifecycle:
    """Keeps turns and session status true to what machines do."""

    def __init__(
        self,
        records: SessionRecords,
        turns: Turns,
        questions: Questions,
        log: Log,
        machines: Machines,
        clock: Clock,
        tasks: Tasks,
        recording: Recording,
    ) -> None:
        self.questions = questions
        self._records = records
        self._turns = turns
        self._log = log
        self._machines = machines
        self._clock = clock
        self._tasks = tasks
        self._recording = recording
        machines.delivery.before_restart = self.session_lost
        machines.delivery.on_sent = self._sent
        machines.on_line = self._line_changed
        machines.on_gone = self._machine_gone
        machines.on_strays = self._strays
        machines.on_not_started = self._not_started

    # --- Events -------------------------------------------------------------------------------

    def write(self, machine: Machine, log: SessionLog, line: str) -> None:
        """Logs any event that an edge made of a machine's words; those that may mean more than
        their text are looked at."""
        if line.startswith(events.STREAMED) or not events.may_matter(line):
            self._log.append(log, line)
        else:
            self.append(machine, log, line)

    def append(self, machine: Machine, log: SessionLog, line: str) -> None:
        """Logs an event that may end a turn or ask a person, and keeps the records true to it.
        What only the control plane may say is dropped."""
        event = events.look(line)
        if event is not None and event.type in events.OURS:
            _log.warning(
                "not a machine's to say",
                kind=event.type,
                session=log.session_id,
                machine=machine.id,
            )
            self._log.taken(log)
            return
        if event is not None and event.type in events.TERMINAL:
            self._append_end(machine, log, event, line)
            return
        self._log.append(log, line)
        if event is not None and event.type.startswith("approval_"):
            work = self.questions.heard(machine, log.session_id, event, line)
            if work is not None:
                self._after_commit(machine, log, work)

    def _append_end(
        self, machine: Machine, log: SessionLog, event: events.Watched, line: str
    ) -> None:
        session_id = log.session_id
        if event.type == "execution_error" and event.reason in events.NOT_STARTED:
            self._refused(machine, session_id, event)
            given = machine.ends.given(session_id)
            if given and event.turn is None:
                self._end_all(machine, log, event, given)
                return
        late = machine.ends.late(session_id, event.turn)
        if late is not None:
            self._log.taken(log)
            self._recording.add(machine, session_id, self._turns.paid(late))
            return
        turn_id = machine.ends.end(session_id, event.turn)
        self._log.append(log, line)
        if turn_id is not None:
            self._after_commit(machine, log, self.record_end(session_id, event, turn_id))

    async def record_end(self, session_id: str, event: events.Watched, turn_id: str) -> None:
        """A turn's end that is in the log. Its questions first: who finds the turn ended after a
        crash looks no further."""
        state = "failed" if event.type == "execution_error" else "completed"
        if event.cancelled:
            state = "cancelled"
        await self.questions.drop(session_id, turn_id, *([event.turn] if event.turn else []))
        await self._turns.finish(turn_id, state, event.text)

    def _refused(self, machine: Machine, session_id: str, event: events.Watched) -> None:
        """The machine cannot run this session. The next message tries again."""
        machine.starting.pop(session_id, None)
        if machine.running is not None:
            machine.running.discard(session_id)
        _log.warning("session refused", session=session_id, machine=machine.id, code=event.reason)

    def _end_all(
        self, machine: Machine, log: SessionLog, event: events.Watched, turn_ids: list[str]
    ) -> None:
        """What the machine was told for a session that it refuses is in vain: its one event is
        the end of each of these turns."""
        for turn_id in turn_ids:
            line = events.make(
                event.type, self._clock(), turn_id=turn_id, error=event.problem, code=event.reason
            )
            named = msgspec.structs.replace(event, turn_id=turn_id)
            self._append_end(machine, log, named, line)

    def _after_commit(self, machine: Machine, log: SessionLog, work: Work) -> None:
        def record() -> None:
            self._recording.add(machine, log.session_id, work)

        log.marks.append(record)

    # --- Ends that come from here -------------------------------------------------------------

    async def finish(
        self,
        machine: Machine,
        session_id: str,
        state: str,
        turn_id: str,
        *,
        owed: bool = False,
        **fields: Any,
    ) -> None:
        """Ends a turn from here, where no machine will, or not in time. `owed`: the machine may
        yet do so. The log first: the record catches up with it after a crash."""
        log = await self._log.open(session_id)
        if not machine.ends.close(session_id, turn_id):
            return
        if owed:
            machine.ends.owe(session_id, turn_id)
        kind = "execution_error" if state == "failed" else "execution_complete"
        self._log.append(log, events.make(kind, self._clock(), turn_id=turn_id, **fields))
        committed = asyncio.Event()
        log.marks.append(committed.set)
        # In its place from now on: that the end is paid may be heard before this one is written.
        work = self._record_finish(committed, turn_id, state, owed)
        await self._recording.add(machine, session_id, work)

    async def _record_finish(
        self, committed: asyncio.Event, turn_id: str, state: str, owed: bool
    ) -> None:
        await committed.wait()
        await self._turns.finish(turn_id, state, None, owed=owed)

    async def end_turns(self, machine: Machine, session_id: str, why: str, code: str) -> None:
        """Fails what is open in a session whose machine will not end it, or not in time."""
        await self.questions.drop(session_id)
        given = machine.ends.given(session_id)
        for turn in await self._turns.open_of([session_id]):
            owed = turn.id in given
            await self.finish(
                machine, session_id, "failed", turn.id, owed=owed, error=why, code=code
            )

    async def machine_restarted(self, machine: Machine) -> None:
        """A machine that starts afresh has forgotten what it was doing."""
        await self.session_lost(machine, *machine.logs)

    async def session_lost(self, machine: Machine, *session_ids: str) -> None:
        """The machine does not run these any more: what it was doing for them is lost."""
        why = "the machine was restarted in the middle of this turn"
        for turn in await self._turns.open_of(list(session_ids)):
            if turn.state == "sent":
                await self.questions.drop(turn.session_id)
                await self.finish(
                    machine,
                    turn.session_id,
                    "failed",
                    turn.id,
                    error=why,
                    code="MACHINE_RESTARTED",
                )

    # --- Machines come and go -----------------------------------------------------------------

    def _sent(self, machine: Machine, command: Command) -> None:
        if isinstance(command, Say):
            machine.ends.gave(command.session_id, command.turn_id)
            self._tasks.spawn(self._record_sent(machine, command), "turn sent")
        elif isinstance(command, Start):
            work = self._records.update(command.session_id, started_at=self._clock())
            self._tasks.spawn(work, "session started")

    async def _record_sent(self, machine: Machine, message: Say) -> None:
        try:
            # A device names what it ends, and is told to end a turn until it has answered.
            settles = machine.kind != "agp"
            await self._turns.sent(message.session_id, message.turn_id, settles=settles)
        finally:
            machine.turns_unrecorded.discard(message.turn_id)

    def _line_changed(self, machine: Machine, up: bool) -> None:
        status = "online" if up else "offline"
        line = events.make("session_status", self._clock(), machine=status, machine_id=machine.id)
        for log in machine.logs.values():
            if log.readers:
                self._log.append(log, line)

    def moved(self, machine: Machine, log: SessionLog) -> None:
        """The session is this machine's now."""
        status = "online" if machine.line is not None else "offline"
        if log.readers:
            line = events.make(
                "session_status", self._clock(), machine=status, machine_id=machine.id
            )
            self._log.append(log, line)

    def _machine_gone(self, machine: Machine, code: str, why: str) -> None:
        self._tasks.spawn(self._fail_all(machine, code, why), "machine gone")

    async def _fail_all(self, machine: Machine, code: str, why: str) -> None:
        for session_id in list(machine.logs):
            await self.end_turns(machine, session_id, why, code)
        line = events.make(
            "session_status",
            self._clock(),
            machine="gone",
            machine_id=machine.id,
            code=code,
            message=why,
        )
        for log in machine.logs.values():
            if log.readers:
                self._log.append(log, line)

    def lost(self, log: SessionLog, count: int) -> None:
        """The machine skipped events: whoever reads the log later sees where."""
        line = events.make("session_status", self._clock(), machine="online", lost_events=count)
        self._log.append(log, line)

    def _strays(self, machine: Machine, session_ids: set[str]) -> None:
        self._tasks.spawn(self._stop_strays(machine, session_ids), "stray sessions")

    async def _stop_strays(self, machine: Machine, session_ids: set[str]) -> None:
        """The machine runs what was closed, or moved to another one, while it was away."""
        gone = await self._records.gone_from(machine.id, session_ids)
        for session_id, status in gone.items():
            reason = "user_closed" if status == "closed" else MOVED
            self._machines.delivery.send(machine, Stop(session_id, reason))

    def _not_started(self, machine: Machine, session_id: str) -> None:
        _log.warning("session did not start", session=session_id, machine=machine.id)
        why = f"the session did not start within {limits.SESSION_START_TIMEOUT_S:.0f} s"
        self._tasks.spawn(
            self.end_turns(machine, session_id, why, "SESSION_START_TIMEOUT"), "session not started"
        )
