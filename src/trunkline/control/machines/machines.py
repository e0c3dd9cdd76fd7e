"""The router: every machine's live side. Clients' edges find machines here, machines' edges attach
their lines; what either does to a session is an input of the machine's core."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec
import structlog

from trunkline.control.clock import Clock
from trunkline.control.errors import NotFound
from trunkline.control.log import events
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.actions import Time
from trunkline.control.machines.core import MachineCore
from trunkline.control.machines.machine import Line, LineEnd, Machine
from trunkline.control.machines.online import Online
from trunkline.control.machines.recorded import KeptStates, MachineRow, Rows
from trunkline.control.machines.runtimes import runtimes_of
from trunkline.control.machines.shell import Shell
from trunkline.control.machines.state import MachineState
from trunkline.control.machines.telling import Room
from trunkline.control.machines.traits import KINDS
from trunkline.control.sessions.projection import Projection
from trunkline.control.sessions.records import Session
from trunkline.control.sessions.state import SessionState
from trunkline.control.signals import Signals
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.wire.commands import Start
from trunkline.wire.errors import Malformed

_log = structlog.get_logger(__name__)

_SWEPT_AT_ONCE = 200  # a fraction of a millisecond

_REMOVED = MachineRow("", "", "", "vm", "terminated", None)
"""For the sessions whose machine was removed."""


class Sessions(Protocol):
    """Which sessions are whose (`sessions/placement.py`)."""

    async def hosted_by(self, machine_id: str) -> list[str]: ...


class Machines:
    """The machines that somebody has asked for since the start."""

    def __init__(
        self,
        rows: Rows,
        log: Log,
        projection: Projection,
        sessions: Sessions,
        shell: Shell,
        clock: Clock,
        time: Time,
        *,
        away_s: float,
        tasks: Tasks,
        tuning: Tuning = DEFAULT,
        online: Online | None = None,
        signals: Signals | None = None,
    ) -> None:
        told = signals or Signals()
        self._online = online or Online()
        self._rows = rows
        self._kept = KeptStates(rows, tasks)
        self._log = log
        self._projection = projection
        self._sessions = sessions
        self._shell = shell
        self._clock = clock
        self._time = time
        self._away_s = away_s
        self._start_timeout_s = tuning.start_timeout_s
        self._room = Room(
            messages_max=tuning.held_messages_max,
            bytes_max=tuning.held_bytes_max,
            forwards_max=tuning.held_forwards_max,
        )
        self._tasks = tasks
        self._machines: dict[str, Machine] = {}
        self._loading: dict[str, asyncio.Lock] = {}
        self._started_ms = clock()
        self._changed = told.machines
        told.stalls.watch(self._pause_all)

    # Finding machines

    async def get(self, machine_id: str) -> Machine:
        """The machine with its open sessions loaded."""
        found = self._machines.get(machine_id)
        if found is not None:
            return found
        loading = self._loading.setdefault(machine_id, asyncio.Lock())
        async with loading:  # by one at a time: its sessions have one owner
            found = self._machines.get(machine_id) or await self._load(machine_id)
        if not loading.locked():
            self._loading.pop(machine_id, None)
        return found

    async def named(self, name: str) -> Machine:
        """The machine with that id, else the device with that `guid`, which its owner chose: it
        must not stand for another one's id."""
        try:
            return await self.get(name)
        except NotFound:
            found = await self._rows.by_guid(name)
            if found is None:
                raise
            return await self.get(found)

    async def _load(self, machine_id: str) -> Machine:
        row = await self._rows.get(machine_id)
        if row.state == "online":
            # It was, when this process's predecessor ended: it is expected back.
            row = msgspec.structs.replace(row, state="offline", last_seen_at=self._started_ms)
        machine = self._make(row)
        await self._projection.settled()
        await self._shell.host(machine, await self._sessions.hosted_by(machine_id))
        self._machines[machine_id] = machine
        return machine

    def _make(self, row: MachineRow) -> Machine:
        core = MachineCore(
            MachineState(
                id=row.id,
                own_traits=KINDS[row.kind],
                traits=KINDS[row.kind],
                status=row.state,
                last_seen_ms=row.last_seen_at or 0,
            ),
            self._time,
            away_s=self._away_s,
            start_timeout_s=self._start_timeout_s,
            room=self._room,
        )
        machine = Machine(row.id, row.user_id, row.org_id, row.kind, core, self._shell)
        machine.runtimes, machine.is_draining = row.runtimes, row.is_draining
        return machine

    async def of(self, session: Session) -> Machine:
        """The machine that has the session. It may have been moved a moment ago, and its record
        not say so yet; one whose machine was removed gets one that is not there."""
        found = self.holder(session.id, session.machine_id or "")
        if found is not None:
            return found
        if session.machine_id is not None:
            return await self.get(session.machine_id)
        removed = self._machines.setdefault("", self._make(_REMOVED))
        await self._shell.host(removed, [session.id])
        return removed

    def holder(self, session_id: str, machine_id: str) -> Machine | None:
        """The machine in memory that has the session: most likely that one."""
        found = self._machines.get(machine_id)
        if found is not None and session_id in found.logs:
            return found
        return next((one for one in self._machines.values() if session_id in one.logs), None)

    def find(self, machine_id: str) -> Machine | None:
        """The machine, if it is in memory."""
        return self._machines.get(machine_id)

    def online(self) -> Iterable[Machine]:
        return (machine for machine in self._machines.values() if machine.line is not None)

    def is_online(self, machine_id: str) -> bool:
        return machine_id in self._online

    async def wait_online(self, machine_id: str) -> None:
        machine = await self.get(machine_id)
        while machine.line is None:
            await machine.change()

    async def wait_offline(self, machine_id: str) -> None:
        machine = await self.get(machine_id)
        while machine.line is not None:
            await machine.change()

    # Sessions

    def add(
        self,
        machine: Machine,
        log: SessionLog,
        start: Start | None,
        state: SessionState | None = None,
    ) -> None:
        """A new session of this machine. `state`: what its log says, if that is not empty."""
        self._adopt(machine, log, state or SessionState(machine.id), start)

    def move(self, source: Machine, target: Machine, log: SessionLog) -> None:
        """Nothing comes between: the session is on one machine or on the other."""
        with source.input() as core:
            state = core.move(log.session_id, target.id)
        self._adopt(target, log, state)
        if log.readers:
            status = "online" if target.line is not None else "offline"
            fields = {"machine": status, "machine_id": target.id}
            self._log.append(log, events.make("session_status", self._clock(), **fields))

    def _adopt(
        self, machine: Machine, log: SessionLog, state: SessionState, start: Start | None = None
    ) -> None:
        machine.take(log)
        with machine.input() as core:
            core.adopt(log.session_id, state, is_new=True, start=start)

    # Lines

    def attach(self, machine: Machine, line: Line, *, fresh: bool) -> None:
        """A line is up; an older one of the same machine is closed."""
        older = machine.line
        machine.connect(line)
        if older is not None:
            # Out of the way before it ends: its end is not the machine's.
            older.end(LineEnd.REPLACED)
        if self._log.stalled is not None:
            line.pause(True)
        with machine.input() as core:
            core.line_up(line.traits, is_fresh=fresh)
        for session_id in machine.logs:
            machine.look(session_id)
        self.changed(machine)
        self._kept.changed(machine)

    def detach(self, machine: Machine, line: Line) -> None:
        """A line is down. Does nothing if a newer one has taken over already."""
        if machine.line is not line:
            return
        machine.connect(None)
        with machine.input() as core:
            core.line_down()
        self.changed(machine)
        self._kept.changed(machine)

    def changed(self, machine: Machine) -> None:
        self._online.note(machine.id, machine.line is not None)
        machine.has_changed()
        self._changed.tell(machine)

    def drain(self, machine: Machine, is_draining: bool) -> None:
        """Its record says so already."""
        machine.is_draining = is_draining
        self.changed(machine)

    def look_at(self, machine: Machine, detail: str | None) -> None:
        """Something is wrong with it that its owner can mend: readers are told. None: no longer."""
        machine.detail = detail
        if detail is not None:
            with machine.input() as core:
                core.has_problem(detail)
        self.changed(machine)
        self._kept.changed(machine)

    async def save_all(self) -> None:
        """Every minute and at shutdown: what is online now was last seen now."""
        online = list(self.online())
        for machine in online:
            with machine.input() as core:
                core.seen()
        await self._kept.save(online)

    def end_line(self, machine_id: str, why: LineEnd) -> None:
        machine = self._machines.get(machine_id)
        if machine is not None and machine.line is not None:
            machine.line.end(why)

    def failed(self, machine_id: str, reason: str) -> None:
        """The machine will not come: whoever waits for it is told."""
        self._end(machine_id, "failed", "VM_FAILED", reason)
        if (machine := self._machines.get(machine_id)) is not None:
            self._changed.tell(machine)

    def revive(self, machine_id: str) -> None:
        """One that had failed is tried again: it may come after all."""
        machine = self._machines.get(machine_id)
        if machine is not None:
            with machine.input() as core:
                core.revive()

    def terminated(self, machine_id: str) -> None:
        self._end(machine_id, "terminated", "MACHINE_TERMINATED", "the machine was terminated")

    def _end(self, machine_id: str, state: str, code: str, reason: str) -> None:
        machine = self._machines.get(machine_id)
        if machine is not None:
            with machine.input() as core:
                core.end(state, code, reason)

    def _pause_all(self, cause: str | None) -> None:
        """The log does not keep up, or does again."""
        for machine in self.online():
            assert machine.line is not None
            machine.line.pause(cause is not None)

    # What a machine says

    def heartbeat(
        self, machine: Machine, active: list[str] | None, health: dict[str, object] | None
    ) -> None:
        """What a machine says of itself, and which sessions it runs."""
        with machine.input() as core:
            core.seen()
            if active is not None:
                core.listed(set(active))
        is_news = active is not None
        if health is not None and machine.health != health:
            was, machine.health = machine.health.get("state"), health
            is_news = is_news or was != health.get("state")  # numbers change with each heartbeat
        if health is not None and (has := runtimes_of(health)) != machine.runtimes:
            machine.runtimes = has
            self._kept.changed(machine)
        if is_news:
            self.changed(machine)

    def write(
        self, machine: Machine, log: SessionLog, line: str, *, is_from_here: bool = False
    ) -> None:
        """Logs any event that an edge made of a machine's words; those that may mean more than
        their text are looked at."""
        if line.startswith(events.STREAMED) or not events.may_matter(line):
            self._log.append(log, line)
        else:
            self.watched(machine, log, line, is_from_here=is_from_here)

    def watched(
        self, machine: Machine, log: SessionLog, line: str, *, is_from_here: bool = False
    ) -> None:
        """Logs an event that may end a turn or ask a person. What only the control plane may say
        is dropped, and so is what could be taken for it. `is_from_here`: of a machine that the
        control plane is itself; it may say who has answered."""
        try:
            event = events.examine(line)
        except Malformed as error:
            self._dropped(machine, log, str(error))
            return
        if event is None:
            self._log.append(log, line)
        elif event.is_ours:
            self._dropped(machine, log, event.type)
        else:
            if event.type == "approval_resolved" and not is_from_here:
                line = events.without_a_person(event, self._clock())
            with machine.input() as core:
                core.heard(log.session_id, event, line)

    def _dropped(self, machine: Machine, log: SessionLog, kind: str) -> None:
        session_id = log.session_id
        _log.warning("not a machine's to say", kind=kind, session=session_id, machine=machine.id)
        self._log.taken(log)

    def sweep(self) -> Iterator[None]:
        """Once a second: what is due by the clock. Some machines at a step, so that others can be
        served between two."""
        self._shell.tell_time()
        for number, machine in enumerate(list(self._machines.values()), 1):
            if number % _SWEPT_AT_ONCE == 0:
                yield
            try:
                machine.core.tick(is_stalled=self._log.stalled is not None)
                if machine.core.out:
                    self._shell.run(machine)
            except Exception:  # the others are not to suffer from it
                _log.exception("a machine could not be looked after", machine=machine.id)
