"""One life of the control plane: the real parts, on a disk that outlives them."""

import asyncio
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar, cast

from tests.simulation.edges import Edge, Link, edge_for
from tests.simulation.loop import VirtualLoop
from tests.simulation.settings import RoomWatch, Rules
from tests.simulation.stores import (
    ORG,
    USER,
    Approvals,
    Disk,
    MachineRows,
    MemoryRows,
    Records,
    journal,
)
from trunkline.control.access.auth import Principal
from trunkline.control.clock import Clock
from trunkline.control.edges.agp.device import AgpDevice
from trunkline.control.edges.yeaft_agent import questions
from trunkline.control.edges.yeaft_agent.agent import Agent
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines import state as machine_states
from trunkline.control.machines.actions import Append, Time
from trunkline.control.machines.machine import Line, Machine
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.queries import Queries
from trunkline.control.machines.shell import Shell
from trunkline.control.metrics import Metrics
from trunkline.control.sessions.projection import Projection
from trunkline.control.sessions.ruling import Ruling
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.signals import Signals
from trunkline.control.storage import Storage
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import Tuning
from trunkline.wire.agp import device_state as device_states
from trunkline.wire.commands import Command, Configure
from trunkline.wire.yeaft import agent_state as agent_states

WHO = Principal(USER, ORG, "member")
_METRICS = Metrics(Signals())  # nobody reads them


class _Shell(Shell):
    """The real one, which may die between any two actions."""

    step: Callable[[], None]
    look: Callable[[Machine], None]
    swallowed: set[str]

    def run(self, machine: Machine) -> None:
        super().run(machine)
        self.look(machine)

    def _append(self, machine: Machine, action: Append) -> SessionLog:
        self.step()
        return super()._append(machine, action)

    def _deliver(self, machine: Machine, line: Line, command: Command, _at: int) -> None:
        if machine.line is not line and isinstance(command, Configure):
            self.swallowed.add(command.session_id)
        super()._deliver(machine, line, command, _at)

    def _send(self, machine: Machine, command: Command) -> None:
        self.step()
        super()._send(machine, command)


class _Audit:
    async def append(self, event: str, details: Any, **who: Any) -> None:
        """Nobody reads it here."""


class _Services:
    audit = _Audit()


class _Saved(Protocol):
    def encode(self) -> bytes: ...


_State = TypeVar("_State", bound=_Saved)


def _again(state: _State, decode: Callable[[bytes], _State]) -> _State:
    loaded = decode(state.encode())
    if loaded != state:
        raise AssertionError(f"another state was loaded than was saved: {state}")
    return loaded


class Control:
    def __init__(
        self,
        loop: VirtualLoop,
        disk: Disk,
        random: Random,
        step: Callable[[], None],
        ids: Callable[[], str],
        tuning: Tuning,
        swallowed: set[str],
    ) -> None:
        """`swallowed` is given the sessions of which a change was lost with a line."""
        self.disk = disk
        self.is_ready = False
        self.is_reborn = bool(disk.sessions)
        self.problems = loop.problems
        self.sweep_s = 1.0
        self.step = step
        clock = lambda: int(loop.time() * 1000)  # noqa: E731
        time = Time()
        self.tasks = Tasks()
        self.records = Records(disk)
        self._store = journal(disk, random, step)
        signals = Signals()
        self.log = Log(self._store, clock, tuning, None, signals.commits, signals.stalls)
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
            loop.time,
        )
        shell.step, shell.look = step, RoomWatch(loop.problems).look
        shell.swallowed = swallowed
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
            tuning=tuning,
            signals=signals,
        )
        self.rules = Rules(disk, random)
        self.ruling = Ruling(cast(Any, self.rules), self.machines, self.tasks)
        self.queries = Queries(signals.machines, tuning.query_s)
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
            cast(Any, None),
            Storage(self.log, cast(Any, SimpleNamespace(trouble=None)), None),
            clock,
            ids,
        )
        self.readers: list[object] = []
        self.edges: set[Edge] = set()
        self.devices: dict[str, AgpDevice] = {}
        self.agents: dict[str, Agent] = {}
        # What their edges need besides.
        self.clock: Clock = clock
        self.now = loop.time
        self.tuning = tuning
        self.metrics = _METRICS
        self.starting = self.session_records = self.turns = self.records

    async def start(self) -> None:
        await self._store.load()
        for machine_id in await self.projection.recover():
            await self.machines.get(machine_id)
        self.is_ready = True
        while True:
            await asyncio.sleep(self.sweep_s)
            for _ in self.machines.sweep():
                pass
            for device in self.devices.values():
                device.sweep()
            for agent in self.agents.values():
                agent.tick()
                questions.sweep(cast(Any, self), agent)

    def reload(self) -> None:
        """Every state is saved, loaded and gone on from: nobody may notice."""
        for machine in filter(None, map(self.machines.find, self.disk.machines)):
            core = machine.core
            core.state = _again(core.state, machine_states.decode)
        for device in self.devices.values():
            device.talk.load(_again(device.talk.state, device_states.decode))
        for agent in self.agents.values():
            agent.talk.load(_again(agent.talk.state, agent_states.decode))

    async def create(self, session_id: str, machine_id: str) -> None:
        """As `Sessions.create` does."""
        machine = await self.machines.get(machine_id)
        log = await self.log.open(session_id)
        await asyncio.sleep(0.001)
        if session_id not in self.disk.sessions:
            self.records.insert(session_id, machine_id)
            self.machines.add(machine, log, self.records.start_of(session_id))

    def accept(self, link: Link) -> None:
        self.tasks.spawn(self._accept(link), "line")

    async def _accept(self, link: Link) -> None:
        machine = await self.machines.get(link.machine_id)
        if link.is_fresh:
            with machine.input() as core:
                core.restarted(edge_for(self, machine, link).traits)
            for log in list(machine.logs.values()):
                await self.log.committed(log)
        if link.is_open:
            edge = edge_for(self, machine, link)
            await edge.attach()
            if link.is_open:
                self.edges.add(edge)
                link.edge = edge

    def lost(self, edge: Edge) -> None:
        self.edges.discard(edge)
        edge.detached()
        self.machines.detach(edge.machine, edge)
