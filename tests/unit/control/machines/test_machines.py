"""The router's records: what the end of a line may write, and what it may not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import select, update

from tests.unit.control.conftest import FakeClock
from tests.unit.control.services.conftest import add_org, add_user
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.core import Core
from trunkline.control.log.sqlite_segments import SqliteSegments
from trunkline.control.machines.machine import LineEnd, Machine
from trunkline.control.machines.traits import KINDS
from trunkline.control.machines.vm_records import VmRecords
from trunkline.control.sessions.records import NewMessage, NewSession
from trunkline.control.settings import Settings
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.wire.commands import Command


class QuietLine:
    """A line on which nothing happens."""

    capabilities: frozenset[str] = frozenset()
    traits = KINDS["vm"]

    def deliver(self, command: Command) -> None: ...
    def acknowledge(self, acked: dict[str, int]) -> None: ...
    def pause(self, paused: bool) -> None: ...
    def end(self, why: LineEnd) -> None: ...


async def state_of(store: Store, machine_id: str) -> str:
    table = schema.machines
    async with store.read() as connection:
        found = await connection.scalar(select(table.c.state).where(table.c.id == machine_id))
    return str(found)


@asynccontextmanager
async def one_machine(
    store: Store, clock: FakeClock, keys: Keys, folder: Path
) -> AsyncIterator[tuple[Core, Machine]]:
    ann = await add_user(store, await add_org(store, "Acme"), "Ann")
    segments = await SqliteSegments.open(folder / "log.db")
    core = Core(Settings(data=str(folder)), store, segments, keys, "admin", clock)
    added = await VmRecords(store, clock).add(ann.user_id, "manual", "vm")
    yield core, await core.machines.get(added)
    await core.settle(5)
    await core.services.close()
    await segments.close()


@pytest.mark.parametrize("state", ["terminated", "failed"])
@pytest.mark.parametrize("is_told", [True, False])
async def test_the_end_of_its_line_does_not_bring_back_a_machine_that_was_given_up(
    store: Store, clock: FakeClock, keys: Keys, tmp_path: Path, state: str, is_told: bool
) -> None:
    """Its line may end between the record and the moment when the router hears of it."""
    async with one_machine(store, clock, keys, tmp_path) as (core, machine):
        machines, line = core.machines, QuietLine()
        machines.attach(machine, line, fresh=True)
        await core.tasks.done()
        assert await state_of(store, machine.id) == "online"
        async with store.write() as connection:
            await connection.execute(update(schema.machines).values(state=state))
        if is_told and state == "failed":
            machines.failed(machine.id, "given up")
        elif is_told:
            machines.terminated(machine.id)
        await machines.save_all()
        machines.detach(machine, line)
        await core.tasks.done()
        assert await state_of(store, machine.id) == state


async def test_the_end_of_its_line_makes_a_machine_offline(
    sqlite_store: Store, clock: FakeClock, keys: Keys, tmp_path: Path
) -> None:
    async with one_machine(sqlite_store, clock, keys, tmp_path) as (core, machine):
        line = QuietLine()
        core.machines.attach(machine, line, fresh=True)
        core.machines.detach(machine, line)
        await core.tasks.done()
        assert await state_of(sqlite_store, machine.id) == "offline"


async def test_the_end_of_a_line_that_was_replaced_is_not_the_machines(
    sqlite_store: Store, clock: FakeClock, keys: Keys, tmp_path: Path
) -> None:
    async with one_machine(sqlite_store, clock, keys, tmp_path) as (core, machine):
        older, newer = QuietLine(), QuietLine()
        core.machines.attach(machine, older, fresh=True)
        core.machines.attach(machine, newer, fresh=True)
        core.machines.detach(machine, older)
        await core.tasks.done()
        assert core.machines.is_online(machine.id)
        assert await state_of(sqlite_store, machine.id) == "online"


async def test_the_first_words_of_an_open_turn_after_a_break_are_looked_at(
    sqlite_store: Store, clock: FakeClock, keys: Keys, tmp_path: Path
) -> None:
    """Else a machine that streams would be taken for silent."""
    async with one_machine(sqlite_store, clock, keys, tmp_path) as (core, machine):
        who, line = Principal(machine.user_id, machine.org_id, "member"), QuietLine()
        core.machines.attach(machine, line, fresh=True)
        session = await core.sessions.create(who, NewSession(machine_id=machine.id))
        await core.sessions.send(who, session.id, NewMessage(message="go"))
        with machine.input() as live:
            live.spoke(session.id)
        log = machine.logs[session.id]
        assert not log.is_awaited
        core.machines.detach(machine, line)
        core.machines.attach(machine, QuietLine(), fresh=False)
        assert log.is_awaited
