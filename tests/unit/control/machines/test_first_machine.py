"""The local VM that `trunkline up` keeps for the person who started it."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.support.vm_bench import ADMIN, Bench, vm_bench
from trunkline.control.access.keys import Keys
from trunkline.control.clock import now_ms
from trunkline.control.errors import Unavailable
from trunkline.control.machines.vm_records import VmRecords
from trunkline.control.store import schema


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with vm_bench(tmp_path, Keys.open(tmp_path / "keys")) as bench:
        yield bench


async def ids(bench: Bench) -> list[str]:
    async with bench.store.read() as connection:
        return list(await connection.scalars(select(schema.machines.c.id)))


async def test_the_first_start_makes_one(bench: Bench) -> None:
    vms = await bench.vms()
    await vms.keep_one_for(ADMIN)
    [vm_id] = await ids(bench)
    await bench.until_online(vm_id)
    row = await bench.row(vm_id)
    assert (row.user_id, row.provider, row.name) == ("admin", "local", "this computer")


@pytest.mark.parametrize("was_there", [False, True])
async def test_where_no_machine_can_run_the_start_says_so_once_and_starts_none(
    bench: Bench, was_there: bool
) -> None:
    if was_there:
        await VmRecords(bench.store, now_ms).add("admin", "local", "this computer")
    vms = await bench.vms(problem=lambda: "this installation lacks psutil: pip install trunkline")
    with pytest.raises(Unavailable, match=r"lacks psutil: pip install trunkline .*--no-machine"):
        await vms.keep_one_for(ADMIN)
    assert len(await ids(bench)) == was_there
    assert bench.time.slept == []


async def test_the_next_start_has_the_same_one(bench: Bench) -> None:
    before = await bench.vms()
    await before.keep_one_for(ADMIN)
    [vm_id] = await ids(bench)
    await bench.until_online(vm_id)
    await before.stop()
    after = await bench.vms()
    await after.keep_one_for(ADMIN)
    await bench.until_online(vm_id, 2)
    assert await ids(bench) == [vm_id]


async def test_one_that_failed_is_tried_again_with_its_files(bench: Bench) -> None:
    records = VmRecords(bench.store, now_ms)
    vm_id = await records.add("admin", "local", "this computer")
    await records.set_state(vm_id, "failed", "why not")
    after = await bench.vms()
    await after.keep_one_for(ADMIN)
    await bench.until_online(vm_id)
    assert await ids(bench) == [vm_id]


async def test_one_that_was_given_up_is_not_revived(bench: Bench) -> None:
    vms = await bench.vms()
    await vms.keep_one_for(ADMIN)
    [first] = await ids(bench)
    await vms.terminate(ADMIN, first)
    await vms.keep_one_for(ADMIN)
    [second] = set(await ids(bench)) - {first}
    await bench.until_online(second)
    assert (await bench.row(first)).state == "terminated"


async def test_a_server_that_keeps_none_leaves_it_alone(bench: Bench) -> None:
    """`trunkline control` on a folder that `up` has used; local VMs that were scheduled run."""
    before = await bench.vms()
    await before.keep_one_for(ADMIN)
    [vm_id] = await ids(bench)
    await bench.until_online(vm_id)
    scheduled = await bench.local(before)
    await bench.until_online(scheduled)
    await before.stop()
    await bench.until_offline(vm_id)
    await bench.until_offline(scheduled)
    after = await bench.vms()
    await bench.until_online(scheduled, 2)
    assert bench.lines.connections[vm_id] == 1
    row = await bench.row(vm_id)
    assert (row.state, row.detail) == ("offline", "runs under `trunkline up` alone")
    await after.keep_one_for(ADMIN)  # as the next `up` does
    await bench.until_online(vm_id, 2)


async def test_one_of_an_earlier_version_is_known_by_its_name(bench: Bench) -> None:
    vm_id = await VmRecords(bench.store, now_ms).add("admin", "local", "this computer")
    vms = await bench.vms()
    await vms.keep_one_for(ADMIN)
    await bench.until_online(vm_id)
    assert bench.lines.connections == {vm_id: 1}


async def test_the_operators_folders_and_logins_are_for_the_operators_machine_alone(
    bench: Bench,
) -> None:
    """Programs of other makers keep their logins in HOME, or where their own variables say."""
    program = bench.data.with_name("show.py")
    theirs = "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"
    bench.env |= dict.fromkeys(theirs, "logins")
    names = ("USER_ID", "TRUNKLINE_NODE_ROOTS", "HOME", "TRUNKLINE_NODE_HOME", *theirs)
    program.write_text(f"import os; print(*(os.environ.get(one) for one in {names}))")
    seen = bench.data.with_name("seen")
    command = f"sh -c '{sys.executable} {program} >> {seen}; exit 1'"
    roots = str(bench.data.parent)
    first = await bench.auth.load_first_user()
    vms = await bench.vms(command=command, node_roots=roots)
    await vms.keep_one_for(first)
    [own] = await ids(bench)
    await bench.until_failed(own)
    other = await bench.local(vms)
    await bench.until_failed(other)
    told = {line.split()[0]: line.split()[1:] for line in seen.read_text().splitlines()}
    operators = told.pop(first.user_id)
    assert operators[:2] == [roots, os.environ["HOME"]]
    assert set(operators[3:]) == {"logins"}
    [[shown, home, folder, *logins]] = told.values()
    assert {shown, *logins} == {"None"}
    assert home == folder
