"""One machine, its shell, and a log whose commits wait until the test lets them through."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tests.unit.control.log.gated import GatedStore
from tests.unit.control.machines.pure import VM, core_of, say_of, start_of
from trunkline.control.log.log import Log
from trunkline.control.log.session_log import Batch
from trunkline.control.machines.actions import Time
from trunkline.control.machines.machine import LineEnd, Machine
from trunkline.control.machines.shell import Shell
from trunkline.control.machines.traits import Traits
from trunkline.control.sessions.projection import Projection, Saved, Step
from trunkline.control.sessions.state import SessionState
from trunkline.control.tasks import Tasks
from trunkline.control.tuning import Tuning
from trunkline.wire.commands import Command, Say, Start

QUICK = Tuning(retry_s=0.0)


class KeptRows:
    """Records that are a list of what was written."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.saved: dict[str, Saved] = {}

    async def write(self, steps: Sequence[Step]) -> None:
        self.steps += steps

    async def read(self, session_ids: Sequence[str]) -> dict[str, Saved]:
        return {one: self.saved[one] for one in session_ids if one in self.saved}

    async def open_sessions(self) -> list[str]:
        return []


class KeptLine:
    capabilities: frozenset[str] = frozenset()

    def __init__(self, traits: Traits, faults: int = 0) -> None:
        self.traits = traits
        self.told: list[Command] = []
        self.acked: list[dict[str, int]] = []
        self.faults = faults

    def deliver(self, command: Command) -> None:
        if self.faults:
            self.faults -= 1
            raise RuntimeError("a fault in an edge")
        self.told.append(command)

    def acknowledge(self, acked: dict[str, int]) -> None:
        self.acked.append(acked)

    def pause(self, paused: bool) -> None: ...
    def end(self, why: LineEnd) -> None: ...


class Reader:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def deliver(self, batch: Batch) -> None:
        self.events += map(json.loads, batch.lines)

    def resync(self) -> None: ...


class Stage:
    """One machine with one session, a shell, and a log whose commits wait."""

    def __init__(self, traits: Traits = VM) -> None:
        self.store = GatedStore()
        self.log = Log(self.store, lambda: 77, QUICK)
        self.rows, self.tasks = KeptRows(), Tasks()
        self.time = Time()
        self.starts: dict[str, Start | None] = {"s": start_of()}
        self.says: dict[str, Say] = {}
        self.closed: list[str] = []
        self.moved: dict[str, str] = {}
        self.projection = Projection(self.rows, self.log, self.tasks)
        self.shell = Shell(
            self.log,
            self.projection,
            self,
            self,
            self.start,
            self.tasks,
            lambda: 77,
            self.time,
            lambda: 0.0,
            QUICK,
        )
        core = core_of("m", traits, self.time, away_s=60)
        core.state.last_seen_ms = 77
        self.machine = Machine("m", "ann", "org", "vm", core, self.shell)
        self.line = KeptLine(traits)

    # What the shell asks for

    async def start(self, session_id: str) -> Start | None:
        return self.starts[session_id]

    async def say(self, session_id: str, turn_id: str) -> Say | None:
        return self.says.get(turn_id)

    async def gone_from(self, machine_id: str, session_ids: Iterable[str]) -> dict[str, str]:
        known = {"moved": "active", "unknown": "unknown"}
        return {one: known.get(one, "closed") for one in session_ids}

    async def departed(self, machine_id: str) -> dict[str, str]:
        return self.moved

    async def unsettled(self, machine_id: str) -> list[str]:
        return self.closed

    # What tests do

    async def adopt(self, session_id: str = "s", *, is_new: bool = False) -> None:
        log = await self.log.open(session_id)
        self.machine.take(log)
        with self.machine.input() as core:
            core.adopt(session_id, SessionState("m"), is_new=is_new)

    def attach(self, *, fresh: bool = False) -> None:
        self.machine.line = self.line
        with self.machine.input() as core:
            core.line_up(self.line.traits, is_fresh=fresh)
            if not fresh:
                core.resumed()
                core.listed(set(self.machine.logs))

    def say_hello(self, turn_id: str = "t") -> None:
        with self.machine.input() as core:
            core.say(say_of(turn_id), {"content": "hello"})

    async def done(self) -> None:
        """Everything that can be done is, and committed."""
        self.store.free()
        await self.log.flushed()
        while self.tasks:
            await self.tasks.done()
            await self.log.flushed()
