"""The router's records: what the end of a line may write, and what it may not."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from tests.unit.control.conftest import FakeClock
from tests.unit.control.services.conftest import add_org, add_user
from trunkline.control.log.log import Log
from trunkline.control.log.segments import SqliteSegments
from trunkline.control.machines.commands import Command
from trunkline.control.machines.machines import Machines
from trunkline.control.machines.vm_records import VmRecords
from trunkline.control.store import schema
from trunkline.control.store.engine import Store
from trunkline.control.tasks import Tasks


class QuietLine:
    """A line on which nothing happens."""

    capabilities: frozenset[str] = frozenset()

    def deliver(self, command: Command) -> None: ...
    def withdraw(self, turn_id: str) -> bool:
        return False

    def acknowledge(self, acked: dict[str, int]) -> None: ...
    def pause(self, paused: bool) -> None: ...
    def close(self, code: int, reason: str) -> None: ...


async def state_of(store: Store, machine_id: str) -> str:
    table = schema.machines
    async with store.read() as connection:
        found = await connection.scalar(select(table.c.state).where(table.c.id == machine_id))
    return str(found)


@pytest.mark.parametrize("state", ["terminated", "failed"])
@pytest.mark.parametrize("is_told", [True, False])
async def test_the_end_of_its_line_does_not_bring_back_a_machine_that_was_given_up(
    store: Store, clock: FakeClock, tmp_path: Path, state: str, is_told: bool
) -> None:
    """Its line may end between the record and the moment when the router hears of it."""
    ann = await add_user(store, await add_org(store, "Acme"), "Ann")
    tasks, segments = Tasks(), await SqliteSegments.open(tmp_path / "log.db")
    machines = Machines(store, Log(segments, clock), clock, away_s=60, tasks=tasks)
    machine = await machines.get(await VmRecords(store, clock).add(ann.user_id, "manual", "vm"))
    line = QuietLine()
    machines.attach(machine, line, fresh=True)
    await tasks.settle(15)
    assert await state_of(store, machine.id) == "online"
    async with store.write() as connection:
        await connection.execute(update(schema.machines).values(state=state))
    if is_told:
        machines._end(machine.id, state, "CODE", "given up")
    await machines.save_all()
    machines.detach(machine, line)
    await tasks.settle(15)
    assert await state_of(store, machine.id) == state
    await segments.close()


async def test_the_end_of_its_line_makes_a_machine_offline(
    sqlite_store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    ann = await add_user(sqlite_store, await add_org(sqlite_store, "Acme"), "Ann")
    tasks, segments = Tasks(), await SqliteSegments.open(tmp_path / "log.db")
    machines = Machines(sqlite_store, Log(segments, clock), clock, away_s=60, tasks=tasks)
    added = await VmRecords(sqlite_store, clock).add(ann.user_id, "manual", "vm")
    machine, line = await machines.get(added), QuietLine()
    machines.attach(machine, line, fresh=True)
    machines.detach(machine, line)
    await tasks.settle(15)
    assert await state_of(sqlite_store, machine.id) == "offline"
    await segments.close()
