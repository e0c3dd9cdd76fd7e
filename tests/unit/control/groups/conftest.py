"""A core without sockets, with persons on machines whose lines keep what they are told."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.unit.control.people import People
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.clock import now_ms
from trunkline.control.core import Core
from trunkline.control.groups.copying import object_of
from trunkline.control.groups.groups import Groups
from trunkline.control.groups.persons import NewPerson
from trunkline.control.groups.records import NewGroup
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.machines.machine import LineEnd, Machine
from trunkline.control.machines.traits import Traits
from trunkline.control.sessions.records import NewMessage, NewSession
from trunkline.control.sessions.sessions import Sessions
from trunkline.control.settings import Settings
from trunkline.control.store.engine import Store
from trunkline.control.tuning import DEFAULT, Tuning
from trunkline.wire.commands import Command, Say
from trunkline.wire.events import line

Json = dict[str, Any]


class KeptLine:
    """A machine's line that goes nowhere."""

    capabilities: frozenset[str] = frozenset()
    traits = Traits(starts=False, names_ends=True, is_introduced=False)

    def __init__(self) -> None:
        self.told: list[Command] = []

    def deliver(self, command: Command) -> None:
        self.told.append(command)

    def acknowledge(self, acked: dict[str, int]) -> None: ...

    def pause(self, paused: bool) -> None: ...

    def end(self, why: LineEnd) -> None: ...

    async def until(self, kind: type[Command], count: int = 1) -> Any:
        """The nth command of that kind."""

        async def look() -> list[Command]:
            return [one for one in self.told if isinstance(one, kind)]

        return (await eventually(look, lambda found: len(found) >= count))[count - 1]


class Stage:
    """One user's group with one person on a device."""

    def __init__(self, core: Core, who: Principal, machine: Machine, line_: KeptLine) -> None:
        self.core = core
        self.who = who
        self.machine = machine
        self.line = line_
        self.group_id = ""
        self.session_id = ""

    async def say(self, text: str) -> str:
        new = NewMessage(message=text)
        return await self.core.sessions.send(self.who, self.session_id, new)

    def does(self, say: Say, kind: str, **fields: Any) -> None:
        log = self.machine.logs[say.session_id]
        self.core.machines.write(self.machine, log, line(kind, turn_id=say.turn_id, **fields))

    async def events(self) -> list[Json]:
        found = await self.core.sessions.events(self.who, self.session_id, 0, 10_000)
        return [event for one in found if (event := object_of(one.data)) is not None]

    async def end(self, turn_id: str) -> Json:
        async def look() -> list[Json]:
            return [
                one
                for one in await self.events()
                if one["type"].startswith("execution_") and one["turn_id"] == turn_id
            ]

        return (await eventually(look))[0]


@pytest.fixture
async def core(sqlite_store: Store, keys: Keys, tmp_path: Path) -> AsyncIterator[Core]:
    segments = await SqliteSegments.open(tmp_path / "log.db")
    core = Core(Settings(data=str(tmp_path)), sqlite_store, segments, keys, "admin")
    yield core
    await core.settle(5)
    await core.services.close()
    await segments.close()


def groups_of(core: Core, sessions: Sessions, tuning: Tuning) -> Groups:
    """The core's groups, with less patience, or other sessions."""
    return Groups(
        core.store,
        core.records.users,
        sessions,
        core.machines,
        core.turns,
        core.approvals,
        core.log,
        core.tasks,
        core.vms,
        core.clock,
        tuning=tuning,
    )


@pytest.fixture
async def stage(core: Core) -> AsyncIterator[Stage]:
    people = await People.settle(core.store, now_ms)
    who = people.ann
    known, _ = await core.machine_secrets.issue_device(who.user_id, "phone", [])
    machine = await core.machines.get(known.machine_id)
    kept = KeptLine()
    core.machines.attach(machine, kept, fresh=False)
    with machine.input() as machine_core:
        machine_core.resumed()
    stage = await furnish(Stage(core, who, machine, kept), core.groups)
    yield stage
    await stage.core.settle(5)


async def furnish(stage: Stage, groups: Groups) -> Stage:
    person = await groups.persons.create(
        stage.who, NewPerson(name="alice", prompt="Be kind.", machine_id=stage.machine.id)
    )
    group = await groups.create(stage.who, NewGroup(name="team", person_ids=[person.id]))
    session = await stage.core.sessions.create(stage.who, NewSession(machine_id=group.id))
    stage.group_id, stage.session_id = group.id, session.id
    return stage


async def restarted(stage: Stage, keys: Keys, tuning: Tuning = DEFAULT) -> Stage:
    """The same records and logs under a new core: whatever the old one knew is forgotten."""
    old = stage.core
    await old.settle(5)
    core = Core(old.settings, old.store, old.segments, keys, "admin", tuning=tuning)
    await core.recover()
    await core.groups.start()
    machine = await core.machines.get(stage.machine.id)
    kept = KeptLine()
    core.machines.attach(machine, kept, fresh=False)
    with machine.input() as machine_core:
        machine_core.resumed()
    stage.core, stage.machine, stage.line = core, machine, kept
    return stage
