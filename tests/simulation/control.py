"""One life of the control plane: the real parts, on a disk that outlives them."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, cast

from tests.simulation.loop import VirtualLoop
from tests.simulation.stores import (
    ORG,
    USER,
    Approvals,
    Disk,
    MachineRows,
    MemoryRows,
    MemorySegments,
    Records,
)
from trunkline.control.access.auth import Principal
from trunkline.control.log import events
from trunkline.control.log.log import Log, SessionLog
from trunkline.control.machines.actions import Append, Time
from trunkline.control.machines.machine import Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.shell import Shell
from trunkline.control.machines.traits import KINDS, Traits
from trunkline.control.sessions.projection import Projection
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.tasks import Tasks
from trunkline.wire.commands import Cancel, Command, Say, Start, Stop

WHO = Principal(USER, ORG, "member")
_CANCEL_GRACE_S = 10.0
_SILENCE_S = 600.0


class _Shell(Shell):
    """The real one, which may die between any two actions."""

    step: Callable[[], None]

    def _append(self, machine: Machine, action: Append) -> SessionLog:
        self.step()
        return super()._append(machine, action)

    def _send(self, machine: Machine, command: Command) -> None:
        self.step()
        super()._send(machine, command)


class _Audit:
    async def append(self, event: str, details: Any, **who: Any) -> None:
        """Nobody reads it here."""


class _Services:
    audit = _Audit()


class Control:
    def __init__(
        self,
        loop: VirtualLoop,
        disk: Disk,
        random: Random,
        step: Callable[[], None],
        ids: Callable[[], str],
    ) -> None:
        self.disk = disk
        self.is_ready = False
        self.problems = loop.problems
        self.sweep_s = 1.0
        self.step = step
        clock = lambda: int(loop.time() * 1000)  # noqa: E731
        time = Time()
        self.tasks = Tasks()
        self.records = Records(disk)
        self.log = Log(MemorySegments(disk, random, step), clock)
        self.projection = Projection(MemoryRows(disk, random, step), self.log, self.tasks)
        shell = _Shell(
            self.log,
            self.projection,
            self.records,
            self.records,
            self.records.build,
            self.tasks,
            clock,
            time,
        )
        shell.step = step
        self.machines = Machines(
            MachineRows(disk, self.records),
            self.log,
            self.projection,
            self.records,
            shell,
            clock,
            time,
            away_s=300.0,
            tasks=self.tasks,
        )
        self.approvals = Approvals(disk, self.projection.settled)
        self.sessions = Sessions(
            cast(Any, None),
            self.log,
            self.machines,
            cast(Any, _Services()),
            cast(Any, self.records),
            self.projection,
            cast(Any, self.records),
            cast(Any, self.approvals),
            cast(Any, self.records),
            clock,
            ids,
        )
        self.readers: list[object] = []
        self.edges: set[Edge] = set()

    async def start(self) -> None:
        for machine_id in await self.projection.recover():
            await self.machines.get(machine_id)
        self.is_ready = True
        while True:
            await asyncio.sleep(self.sweep_s)
            self.machines.sweep()
            for edge in list(self.edges):
                edge.sweep()

    async def create(self, session_id: str, machine_id: str) -> None:
        """As `Sessions.create` does."""
        machine = await self.machines.get(machine_id)
        self.records.insert(session_id, machine_id)
        start = await self.records.build(session_id)
        self.machines.add(machine, await self.log.open(session_id), start)

    def accept(self, link: "Link") -> None:
        self.tasks.spawn(self._accept(link), "line")

    async def _accept(self, link: "Link") -> None:
        machine = await self.machines.get(link.machine_id)
        if link.is_fresh:
            with machine.input() as core:
                core.restarted(Edge(self, machine, link).traits)
            for log in list(machine.logs.values()):
                await self.log.committed(log)
        if link.is_open:
            edge = Edge(self, machine, link)
            self.edges.add(edge)
            link.edge = edge
            self.machines.attach(machine, edge, fresh=link.is_fresh)
            await edge.attached()

    def lost(self, edge: "Edge") -> None:
        self.edges.discard(edge)
        self.machines.detach(edge.machine, edge)


class Link:
    """One connection, as both ends see it. `send` is the way down to the machine."""

    def __init__(
        self,
        machine_id: str,
        kind: str,
        *,
        is_numbered: bool,
        is_fresh: bool,
        send: Callable[["Link", Any], None],
    ) -> None:
        self.machine_id = machine_id
        self.kind = kind
        self.is_numbered = is_numbered
        self.is_fresh = is_fresh
        self.is_open = True
        self.is_live = False
        self.busy: set[str] = set()
        """An agent's conversations that it is at, as it says on its return."""
        self.edge: Edge | None = None
        self.down = send


class Edge:
    """The control plane's end of a line: what the edges of the four wires have in common."""

    capabilities: frozenset[str] = frozenset()

    def __init__(self, control: Control, machine: Machine, link: Link) -> None:
        self.machine = machine
        self._control = control
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._current: dict[str, str] = {}
        self._heard: set[str] = set()
        self._news: dict[str, float] = {}
        self._grace: dict[str, float] = {}
        self.problems = control.problems

    @property
    def traits(self) -> Traits:
        return Traits(numbers=True) if self._link.is_numbered else KINDS[self._link.kind]

    async def attached(self) -> None:
        """What the machine is told first, and what is known of it already."""
        acked = {one: log.safe_seq or 0 for one, log in self.machine.logs.items()}
        self._link.down(self._link, ("init", acked))
        if self.traits.starts:
            return
        for session_id, hosted in list(self.machine.core.sessions.items()):
            for turn in hosted.session.state.told:
                self._current[session_id] = turn.id
                lines = self._control.disk.events.get(session_id, [])
                if any(turn.id in line and "user_message" not in line for line, _ in lines):
                    self._heard.add(turn.id)
        with self.machine.input() as core:
            if self._link.kind == "yeaft":
                for session_id, turn_id in list(self._current.items()):
                    if turn_id in self._heard and session_id not in self._link.busy:
                        core.finish(session_id, turn_id, "execution_error", code="RESTARTED")
                    elif session_id in self._link.busy:
                        self._heard.add(turn_id)
            core.resumed([] if self.traits.rereads else list(self._heard))

    # Line

    def deliver(self, command: Command) -> None:
        self._control.step()
        if isinstance(command, Start) and self.traits.numbers:
            log = self.machine.logs.get(command.session_id)
            self._link.down(self._link, (command, (log and log.machine_seq) or 0))
        elif not self.traits.starts and isinstance(command, Cancel):
            turn_id = self._current.get(command.session_id)
            if turn_id is not None:
                self._grace.setdefault(turn_id, self._loop.time() + _CANCEL_GRACE_S)
                self._link.down(self._link, (command, 0))
        else:
            if isinstance(command, Say) and not self.traits.starts:
                self._check_turn(command)
                self._current[command.session_id] = command.turn_id
                self._news[command.turn_id] = self._loop.time()
            self._link.down(self._link, (command, 0))
            if isinstance(command, Stop) and not self.traits.starts:
                self._current.pop(command.session_id, None)
                with self.machine.input() as core:
                    core.stopped(command.session_id)
        self._control.step()

    def _check_turn(self, say: Say) -> None:
        """One turn at a time, in the order in which they were said."""
        before = self._current.get(say.session_id, say.turn_id)
        if KINDS[self._link.kind].rereads or before == say.turn_id:
            return
        if not self.machine.core.has_ended(say.session_id, before):
            self.problems.append(f"{say.turn_id} is said while {before} is active")

    def acknowledge(self, acked: dict[str, int]) -> None:
        self._control.step()
        self._link.down(self._link, ("ack", acked))

    def pause(self, paused: bool) -> None:
        """The disk here never stalls for so long."""

    def close(self, code: int, reason: str) -> None:
        self._link.is_open = False
        self._control.lost(self)

    # What comes up

    def receive(self, frame: Any) -> None:
        match frame:
            case ("event", session_id, seq, line):
                self._event(session_id, seq, line)
            case ("resume", turns):
                with self.machine.input() as core:
                    core.resumed(turns)
            case ("list", session_ids):
                self._control.machines.heartbeat(self.machine, session_ids, None)

    def _event(self, session_id: str, seq: int | None, line: str) -> None:
        log = self.machine.logs.get(session_id)
        if log is None:
            return
        if seq is not None:
            known = log.machine_seq or 0
            if seq <= known:
                return
            log.machine_seq = seq
        if not self.traits.starts:
            self._named(log, line)
            return
        if log.is_awaited:
            with self.machine.input() as core:
                core.spoke(session_id)
            log.is_awaited = self.machine.core.awaits(session_id)
        if events.may_matter(line):
            self._control.machines.watched(self.machine, log, line)
        else:
            self._control.log.append(log, line)

    def _named(self, log: SessionLog, line: str) -> None:
        """Of a wire whose events name their turn."""
        session_id = log.session_id
        event = events.object_of(line)
        turn_id = event["turn_id"]
        if self.machine.core.has_ended(session_id, turn_id):
            if event["type"].startswith("execution_"):
                with self.machine.input() as core:
                    core.settled(session_id, turn_id)
            return
        self._heard.add(turn_id)
        self._news[turn_id] = self._loop.time()
        self._control.machines.write(self.machine, log, line)

    def sweep(self) -> None:
        now = self._loop.time()
        if self.traits.starts or self.traits.rereads:
            return
        for session_id, turn_id in list(self._current.items()):
            if self.machine.core.has_ended(session_id, turn_id):
                del self._current[session_id]
                continue
            with self.machine.input() as core:
                if self._grace.get(turn_id, now) < now:
                    core.finish(
                        session_id, turn_id, "execution_complete", is_late=True, cancelled=True
                    )
                elif now - self._news.setdefault(turn_id, now) > _SILENCE_S:
                    core.finish(session_id, turn_id, "execution_error", is_late=True, code="SILENT")
