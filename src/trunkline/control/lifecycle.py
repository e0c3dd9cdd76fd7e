"""Up: what a session's events mean for its records, and what becomes of it when machines go.

The machine edges report here; it writes turns, approvals and the control plane's own events.
"""

from collections.abc import Coroutine
from typing import Any

import structlog

from trunkline import limits
from trunkline.control import events
from trunkline.control.approvals import Approval, Approvals
from trunkline.control.clock import Clock
from trunkline.control.commands import Answer, Command, Say, Start, Stop
from trunkline.control.log import Log, SessionLog
from trunkline.control.machine import Machine
from trunkline.control.machines import Machines
from trunkline.control.session_records import SessionRecords
from trunkline.control.tasks import Tasks
from trunkline.control.turns import Turns, history_of, say
from trunkline.wire.errors import Malformed

_log = structlog.get_logger(__name__)

_CATCH_UP_EVENTS = 5000
_ENDED_TURNS_KEPT = 10_000


class Lifecycle:
    """Keeps turns, approvals and session status true to what machines do."""

    def __init__(
        self,
        records: SessionRecords,
        turns: Turns,
        approvals: Approvals,
        log: Log,
        machines: Machines,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self._records = records
        self._turns = turns
        self._approvals = approvals
        self._log = log
        self._machines = machines
        self._clock = clock
        self._tasks = tasks
        self._ended_turns: dict[str, None] = {}
        """The newest turns that have ended: an end of theirs that comes again is not shown."""
        self._unended: dict[str, set[str]] = {}
        """By session, turns that we ended and whose machine may yet end them, unnamed."""
        machines.delivery.before_restart = self.session_lost
        machines.delivery.on_sent = self._sent
        machines.on_line = self._line_changed
        machines.on_gone = self._machine_gone
        machines.on_strays = self._strays
        machines.on_not_started = self._not_started

    # --- Events -------------------------------------------------------------------------------

    def append(self, machine: Machine, log: SessionLog, line: str) -> None:
        """Logs an event that may end a turn or ask a person, and keeps the records true to it."""
        event = events.look(line)
        if event is not None and event.type in events.TERMINAL:
            if self._was_ended_here(log.session_id, event):
                self._log.taken(log)
                return
            self._log.append(log, line)
            if event.turn is not None:
                self._ended(event.turn)
            self._after_commit(log, self._end_turn(log.session_id, event))
            return
        self._log.append(log, line)
        if event is not None and event.type.startswith("approval_"):
            self._approval(machine, log, event, line)

    def _was_ended_here(self, session_id: str, event: events.Watched) -> bool:
        """The late end, from the machine, of a turn that we ended for it.

        A machine that does not name its turns is believed again once it has a new message.
        """
        unended = self._unended.get(session_id)
        if event.turn is not None:
            if unended is not None:
                unended.discard(event.turn)
            return event.turn in self._ended_turns
        if not unended:
            return False
        unended.pop()
        return True

    def _ended(self, turn_id: str) -> None:
        """Remembers a turn that has its end; the newest few are enough to know a late one."""
        self._ended_turns[turn_id] = None
        while len(self._ended_turns) > _ENDED_TURNS_KEPT:
            del self._ended_turns[next(iter(self._ended_turns))]

    async def _end_turn(
        self, session_id: str, event: events.Watched, turn_id: str | None = None
    ) -> None:
        state = "failed" if event.type == "execution_error" else "completed"
        if event.cancelled:
            state = "cancelled"
        await self._turns.finish(session_id, state, event.text, turn_id or event.turn)

    def _approval(
        self, machine: Machine, log: SessionLog, event: events.Watched, line: str
    ) -> None:
        request_id = event.request
        if request_id is None or len(request_id) > limits.NAME_CHARS_MAX:
            _log.warning("approval without a usable id", session=log.session_id, machine=machine.id)
        elif event.type == "approval_request":
            try:
                request = events.object_of(line)
            except Malformed as error:  # the look above skips fields; this one reads them
                _log.warning("unreadable approval", session=log.session_id, problem=str(error))
                return
            asked = self._asked(machine, log.session_id, request_id, request)
            self._after_commit(log, asked)
        else:
            settled = self._approvals.resolved(log.session_id, request_id, bool(event.confirmed))
            self._after_commit(log, settled)

    async def _asked(
        self, machine: Machine, session_id: str, request_id: str, request: dict[str, Any]
    ) -> None:
        """A question that was answered before is asked again when the answer was lost."""
        approval = await self._approvals.asked(session_id, machine.user_id, request_id, request)
        if approval.state != "pending":
            confirmed = approval.state == "confirmed"
            answer = Answer(session_id, request_id, confirmed, approval.answer)
            self._machines.delivery.send(machine, answer)

    async def tell_answer(self, approval: Approval) -> None:
        """Every reader sees that a question is settled, and by whom."""
        line = events.make(
            "approval_resolved",
            self._clock(),
            request_id=approval.request_id,
            confirmed=approval.state == "confirmed",
            answer=approval.answer,
            answered_by=approval.answered_by,
        )
        self._log.append(await self._log.open(approval.session_id), line)

    def _after_commit(self, log: SessionLog, work: Coroutine[Any, Any, Any]) -> None:
        def run() -> None:
            self._tasks.spawn(work, "session record")

        log.marks.append(run)

    async def finish(self, session_id: str, state: str, turn_id: str, **fields: Any) -> None:
        """Ends a turn from here, where no machine will."""
        kind = "execution_error" if state == "failed" else "execution_complete"
        if await self._turns.finish(session_id, state, None, turn_id) is None:
            return
        self._ended(turn_id)
        line = events.make(kind, self._clock(), turn_id=turn_id, **fields)
        self._log.append(await self._log.open(session_id), line)

    async def end_turns(self, session_id: str, why: str, code: str) -> None:
        """Fails what is open in a session whose machine will not end it, or not in time."""
        for turn in await self._turns.open_of([session_id]):
            if turn.state == "sent":
                self._unended.setdefault(session_id, set()).add(turn.id)
            await self.finish(session_id, "failed", turn.id, error=why, code=code)
        for request_id in await self._approvals.drop(session_id):
            line = events.make(
                "approval_resolved", self._clock(), request_id=request_id, confirmed=False
            )
            self._log.append(await self._log.open(session_id), line)

    async def machine_restarted(self, machine: Machine) -> None:
        """A machine that starts afresh has forgotten what it was doing."""
        await self.session_lost(*machine.logs)

    async def session_lost(self, *session_ids: str) -> None:
        """The machine does not run these any more: what it was doing for them is lost."""
        why = "the machine was restarted in the middle of this turn"
        for turn in await self._turns.open_of(list(session_ids)):
            if turn.state == "sent":
                await self.finish(
                    turn.session_id, "failed", turn.id, error=why, code="MACHINE_RESTARTED"
                )

    # --- Machines come and go -----------------------------------------------------------------

    def _sent(self, machine: Machine, command: Command) -> None:
        if isinstance(command, Say):
            self._unended.pop(command.session_id, None)
            self._tasks.spawn(self._record_sent(machine, command.turn_id), "turn sent")
        elif isinstance(command, Start):
            work = self._records.update(command.session_id, started_at=self._clock())
            self._tasks.spawn(work, "session started")

    async def _record_sent(self, machine: Machine, turn_id: str) -> None:
        try:
            await self._turns.sent(turn_id)
        finally:
            machine.turns_unrecorded.discard(turn_id)

    async def redeliver(self, machine: Machine, known_turns: list[str] | None) -> None:
        """After a machine's return: messages it never got, which a restart of ours forgot.

        A machine that names its turns also gets again what was lost on the way to it.
        """
        for turn in await self._turns.open_of(list(machine.logs)):
            lost = known_turns is not None and turn.state == "sent" and turn.id not in known_turns
            if turn.state == "queued" or lost:
                recent = await self._turns.recent(turn.session_id)
                history = history_of([one for one in recent if one.id < turn.id])
                self._machines.delivery.send(machine, say(turn, history))

    def _line_changed(self, machine: Machine, up: bool) -> None:
        status = "online" if up else "offline"
        line = events.make("session_status", self._clock(), machine=status, machine_id=machine.id)
        for log in machine.logs.values():
            if log.readers:
                self._log.append(log, line)

    def _machine_gone(self, machine: Machine, code: str, why: str) -> None:
        self._tasks.spawn(self._fail_all(machine, code, why), "machine gone")

    async def _fail_all(self, machine: Machine, code: str, why: str) -> None:
        for session_id in list(machine.logs):
            await self.end_turns(session_id, why, code)
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
        self._tasks.spawn(self._stop_closed(machine, session_ids), "stray sessions")

    async def _stop_closed(self, machine: Machine, session_ids: set[str]) -> None:
        """The machine runs what was closed while it was away."""
        for session_id in await self._records.closed_on(machine.id, session_ids):
            self._machines.delivery.send(machine, Stop(session_id, "user_closed"))

    async def recover(self) -> None:
        """At the start: the records catch up with the log, and machines with open turns are
        watched, whether anybody asks or not."""
        for machine_id in await self._turns.machines_with_open():
            machine = await self._machines.get(machine_id)
            for session_id, turns in await self._open_turns(machine):
                await self._catch_up(machine, machine.logs[session_id], turns)

    async def _open_turns(self, machine: Machine) -> list[tuple[str, list[str]]]:
        found: dict[str, list[str]] = {}
        for turn in await self._turns.open_of(list(machine.logs)):
            found.setdefault(turn.session_id, []).append(turn.id)
        return list(found.items())

    async def _catch_up(self, machine: Machine, log: SessionLog, open_turns: list[str]) -> None:
        """Applies the ends and questions that were committed just before a crash, and whose
        record was not written any more."""
        recent = await self._log.read(log, max(0, log.last_id - _CATCH_UP_EVENTS), _CATCH_UP_EVENTS)
        watched = [(event, line) for _, line in recent if (event := events.look(line)) is not None]
        said = [event.turn for event, _ in watched if event.type == "user_message"]
        waiting = [turn for turn in open_turns if turn not in said]
        for event, line in watched:
            if event.type == "user_message" and event.turn is not None:
                waiting.append(event.turn)
            elif event.type in events.TERMINAL and waiting:
                ended = event.turn if event.turn in waiting else waiting[0]
                waiting.remove(ended)
                if ended in open_turns:
                    await self._end_turn(log.session_id, event, ended)
            elif event.type.startswith("approval_"):
                self._approval(machine, log, event, line)
        for mark in log.marks:
            mark()
        log.marks = []

    def _not_started(self, machine: Machine, session_id: str) -> None:
        _log.warning("session did not start", session=session_id, machine=machine.id)
        why = f"the session did not start within {limits.SESSION_START_TIMEOUT_S:.0f} s"
        self._tasks.spawn(
            self.end_turns(session_id, why, "SESSION_START_TIMEOUT"), "session not started"
        )
