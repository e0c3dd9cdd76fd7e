"""VMs from their scheduling to their end; local ones are real processes that speak the wire."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from tests.support import scripted_daemon
from tests.support.lines import MemoryLines
from tests.support.vm_bench import ADMIN, AWAY_S, BOUND_S, CONNECT_S, URL, Bench, vm_bench
from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    LimitReached,
    NotFound,
    Unauthorized,
    Unavailable,
)
from trunkline.control.ids import new_id
from trunkline.control.machines.local_vm import VM_SLOW_RESTART_S
from trunkline.control.machines.machine import LineEnd
from trunkline.control.machines.vms import Scheduled
from trunkline.control.store import schema

pytestmark = pytest.mark.slow  # it starts daemons

MEMBER = Principal("user-1", "org-1", "member")
STRANGER = Principal("user-2", "org-1", "member")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys.open(tmp_path_factory.mktemp("keys"))


@pytest.fixture
async def bench(tmp_path: Path, keys: Keys) -> AsyncIterator[Bench]:
    async with vm_bench(tmp_path, keys) as bench:
        yield bench


async def no_longer_watched(vm_id: str) -> None:
    watching = [one for one in asyncio.all_tasks() if one.get_name() == f"vm-{vm_id}"]
    async with asyncio.timeout(BOUND_S):
        await asyncio.gather(*watching)


@pytest.mark.proves("000-9-token-issued-at-scheduling", "000-9-ticket-issued-at-scheduling")
async def test_a_manual_vm_gets_all_it_needs_to_connect(bench: Bench) -> None:
    vms = await bench.vms()
    made = await vms.schedule(MEMBER, "user-1", name="my laptop", base_url=URL + "/trunk/")
    assert made.ws_url == "wss://agents.example/trunk/ws/vm"
    claims = bench.auth.check_vm_token(made.token)
    assert (claims.user_id, claims.org_id, claims.vm_id) == ("user-1", "org-1", made.vm_id)
    await bench.auth.redeem_ticket(made.ticket, "user-1", made.vm_id)
    with pytest.raises(Unauthorized):
        await bench.auth.redeem_ticket(made.ticket, "user-1", made.vm_id)
    row = await bench.row(made.vm_id)
    assert (row.kind, row.provider, row.state) == ("vm", "manual", "pending")
    assert (row.name, row.created_at) == ("my laptop", bench.time.now_ms)
    assert made.expires_at > 0


async def test_nobody_schedules_a_vm_for_a_user_they_may_not_act_for(bench: Bench) -> None:
    vms = await bench.vms()
    for principal, user_id in ((STRANGER, "user-1"), (ADMIN, "nobody"), (ADMIN, "../x\x00")):
        with pytest.raises(NotFound) as caught:
            await vms.schedule(principal, user_id, base_url=URL)
        assert caught.value.code == "USER_NOT_FOUND"


async def test_only_an_administrator_starts_a_process_on_the_host(bench: Bench) -> None:
    vms = await bench.vms()
    with pytest.raises(Forbidden):
        await vms.schedule(MEMBER, "user-1", "local", base_url=URL)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", "a\x1b[2J"])
async def test_names_that_cannot_be_shown_are_refused(bench: Bench, name: str) -> None:
    vms = await bench.vms()
    with pytest.raises(InvalidRequest):
        await vms.schedule(MEMBER, "user-1", name=name, base_url=URL)


@pytest.mark.parametrize(
    ("provider", "base_url"), [("aws", URL), ("", URL), ("manual", "ftp://x"), ("manual", "x")]
)
async def test_unknown_providers_and_addresses_are_refused(
    bench: Bench, provider: str, base_url: str
) -> None:
    vms = await bench.vms()
    with pytest.raises(InvalidRequest):
        await vms.schedule(MEMBER, "user-1", provider, base_url=base_url)


async def test_a_user_has_a_bounded_number_of_vms(bench: Bench) -> None:
    vms = await bench.vms()

    async def another() -> Scheduled:
        return await vms.schedule(MEMBER, "user-1", base_url=URL)

    made = [await another() for _ in range(limits.VMS_PER_USER_MAX)]
    with pytest.raises(LimitReached):
        await another()
    await vms.terminate(MEMBER, made[0].vm_id)
    await another()


@pytest.mark.parametrize("command", ["", "no-such-program --x", "unbalanced '", "/etc/passwd"])
async def test_a_program_that_is_not_there_is_a_clear_error_and_leaves_no_record(
    bench: Bench, command: str
) -> None:
    vms = await bench.vms(command=command)
    with pytest.raises(Unavailable, match="vm_command"):
        await bench.local(vms)
    async with bench.store.read() as connection:
        assert (await connection.execute(select(schema.machines))).all() == []


async def test_a_vm_gets_new_credentials_for_as_long_as_it_is_wanted(bench: Bench) -> None:
    vms = await bench.vms()
    made = await vms.schedule(MEMBER, "user-1", base_url=URL)
    again = await vms.renew(MEMBER, made.vm_id, base_url=URL + "/trunk")
    assert (again.vm_id, again.ws_url) == (made.vm_id, "wss://agents.example/trunk/ws/vm")
    for one in (made, again):
        claims = bench.auth.check_vm_token(one.token)
        assert (claims.user_id, claims.org_id, claims.vm_id) == ("user-1", "org-1", made.vm_id)
        await bench.auth.redeem_ticket(one.ticket, "user-1", made.vm_id)
    for principal, machine_id in ((STRANGER, made.vm_id), (ADMIN, new_id()), (ADMIN, "\x00")):
        with pytest.raises(NotFound):
            await vms.renew(principal, machine_id, base_url=URL)
    await vms.terminate(MEMBER, made.vm_id)
    with pytest.raises(Conflict, match="terminated") as caught:
        await vms.renew(MEMBER, made.vm_id, base_url=URL)
    assert caught.value.code == "VM_NOT_ACTIVE"


async def test_a_vm_that_does_not_connect_in_time_has_failed_and_clients_are_told(
    bench: Bench,
) -> None:
    vms = await bench.vms()
    vm_id = (await vms.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    bench.time.pass_limit(CONNECT_S)
    assert await bench.until_failed(vm_id) == "did not connect within 777 s"
    row = await bench.row(vm_id)
    assert (row.state, row.detail) == ("failed", "did not connect within 777 s")


async def test_a_person_may_be_given_longer_to_start_a_vm(bench: Bench) -> None:
    vms = await bench.vms()
    made = await vms.schedule(MEMBER, "user-1", base_url=URL, connect_within_s=3_600)
    assert await bench.until_failed(made.vm_id) == "did not connect within 3600 s"


async def test_a_vm_that_connects_in_time_is_not_failed_later(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = (await vms.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    other = (await vms.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    bench.lines.set_online(vm_id)
    bench.time.pass_limit(CONNECT_S)
    await bench.until_failed(other)
    assert vm_id not in bench.lines.failures


async def test_a_vm_whose_record_says_it_came_is_not_failed(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = (await vms.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    async with bench.store.write() as connection:
        await connection.execute(update(schema.machines).values(state="offline"))
    bench.time.pass_limit(CONNECT_S)
    await no_longer_watched(vm_id)
    assert vm_id not in bench.lines.failures
    assert (await bench.row(vm_id)).state == "offline"


async def test_a_vm_that_comes_while_its_failure_is_written_has_not_failed(bench: Bench) -> None:
    class Late(MemoryLines):
        """Where a VM comes right after it was looked for."""

        def is_online(self, machine_id: str) -> bool:
            was_online = super().is_online(machine_id)
            self.set_online(machine_id)
            return was_online

    bench.lines = Late()
    vms = await bench.vms()
    vm_id = (await vms.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    bench.time.pass_limit(CONNECT_S)
    await no_longer_watched(vm_id)
    assert vm_id not in bench.lines.failures
    row = await bench.row(vm_id)
    assert (row.state, row.detail) == ("online", None)


async def test_the_wait_goes_on_after_a_restart_of_the_control_plane(bench: Bench) -> None:
    before = await bench.vms()
    vm_id = (await before.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    await before.stop()
    assert (await bench.row(vm_id)).state == "pending"
    await bench.vms()
    bench.time.pass_limit(CONNECT_S)
    await bench.until_failed(vm_id)


async def test_nothing_is_scheduled_while_going_down(bench: Bench) -> None:
    vms = await bench.vms()
    await vms.stop()
    with pytest.raises(Unavailable):
        await vms.schedule(MEMBER, "user-1", base_url=URL)


async def test_a_local_vm_connects_with_the_credentials_it_was_given(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = await bench.local(vms)
    await bench.until_online(vm_id)
    await vms.stop()
    await bench.until_offline(vm_id)


async def test_a_local_vm_gets_its_secrets_in_a_scrubbed_environment_only(bench: Bench) -> None:
    bench.env["TRUNKLINE_ADMIN_TOKEN"] = bench.env["OPENAI_API_KEY"] = "not-for-agents"
    program = bench.data.with_name("show.py")
    program.write_text("import os,sys,json; print(json.dumps([sys.argv, dict(os.environ)]))")
    seen = bench.data.with_name("seen")
    vms = await bench.vms(command=f"sh -c '{sys.executable} {program} > {seen}; exit 1'")
    await bench.until_failed(await bench.local(vms))
    text = seen.read_text()
    assert "not-for-agents" not in text
    for name in ("USER_ID", "VM_USER_ID", "VM_TOKEN", "VM_TICKET", "CONTROL_PLANE_WS"):
        assert f'"{name}"' in text
    argv = text[: text.index("]")]
    assert "tk_" not in argv
    assert "eyJ" not in argv


async def test_a_local_vm_that_dies_is_started_again_with_back_off_until_it_has_failed(
    bench: Bench,
) -> None:
    vms = await bench.vms("--crash")
    vm_id = await bench.local(vms)
    reason = await bench.until_failed(vm_id)
    assert reason.startswith("died 4 times in a row; the last time it exited with 3: nothing works")
    row = await bench.row(vm_id)
    assert (row.state, row.detail) == ("failed", reason)
    assert bench.time.slept == [1.0, 2.0, 4.0]


async def test_a_local_vm_that_has_failed_is_tried_again_slowly_and_says_so(bench: Bench) -> None:
    """For good, that was: a machine whose disk was full for three minutes never came back."""
    lives = bench.data.with_name("lives")
    lives.touch()
    daemon = f"{sys.executable} {scripted_daemon.__file__}"
    works = limits.VM_START_FAILURES_MAX + 3
    vms = await bench.vms(
        command=f"sh -c 'echo x >> {lives}; [ $(wc -l < {lives}) -ge {works} ] || exit 3;"
        f" exec {daemon}'"
    )
    vm_id = await bench.local(vms)
    reason = await bench.until_failed(vm_id)
    assert reason.endswith("(it is started again every 5 minutes)")
    assert (await bench.row(vm_id)).detail == reason
    before = bench.lines.revived[vm_id]
    bench.time.pass_limit(VM_SLOW_RESTART_S)
    await bench.until_online(vm_id)
    assert bench.lines.revived[vm_id] - before == 2, "whoever is let in has been revived first"


async def test_each_start_has_a_fresh_token_and_ticket(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = await bench.local(vms)
    for life in range(1, 4):
        # The server lets nobody in with a ticket that was used before.
        await bench.until_online(vm_id, life)
        await bench.lines.say(vm_id, "crash")
        await bench.until_offline(vm_id)
    await bench.until_online(vm_id, 4)
    assert bench.time.slept == [1.0, 2.0, 4.0]
    async with bench.store.read() as connection:
        used = await connection.scalars(
            select(schema.tickets.c.used_at).where(schema.tickets.c.machine_id == vm_id)
        )
        assert Counter(at is not None for at in used) == {True: 4, False: 1}


async def test_back_off_starts_over_after_a_stable_life(bench: Bench) -> None:
    bench.time.step_ms = int(limits.VM_STABLE_S * 1000)
    vms = await bench.vms()
    vm_id = await bench.local(vms)
    for life in range(1, limits.VM_QUICK_FAILURES_MAX + 3):
        await bench.until_online(vm_id, life)
        await bench.lines.say(vm_id, "crash")
        await bench.until_offline(vm_id)
    await bench.until_online(vm_id, limits.VM_QUICK_FAILURES_MAX + 3)
    assert set(bench.time.slept) == {1.0}


async def test_a_local_vm_that_never_connects_is_stopped_and_has_failed(bench: Bench) -> None:
    vms = await bench.vms("--never-connect")
    vm_id = await bench.local(vms)
    bench.time.pass_limit(CONNECT_S)
    reason = await bench.until_failed(vm_id)
    assert reason == "did not connect within 777 s (it is started again every 5 minutes)"
    assert bench.time.slept == []


async def test_a_broken_line_alone_does_not_restart_a_local_vm(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = await bench.local(vms)
    await bench.until_online(vm_id)
    await bench.lines.say(vm_id, "drop")
    await bench.until_online(vm_id, 2)
    assert bench.time.slept == []


async def test_a_local_vm_that_lives_on_without_a_line_is_started_again(bench: Bench) -> None:
    vms = await bench.vms("--reconnect-s", "3600")
    vm_id = await bench.local(vms)
    await bench.until_online(vm_id)
    bench.time.pass_limit(AWAY_S)
    await bench.lines.say(vm_id, "drop")
    await bench.until_online(vm_id, 2)
    assert bench.time.slept == [1.0]


async def test_local_vms_run_again_after_a_restart_of_the_control_plane(bench: Bench) -> None:
    before = await bench.vms()
    vm_id = await bench.local(before)
    await bench.until_online(vm_id)
    await before.stop()
    await bench.until_offline(vm_id)
    await bench.vms()
    await bench.until_online(vm_id, 2)


async def test_a_boot_without_the_program_fails_the_vm_and_not_the_boot(bench: Bench) -> None:
    before = await bench.vms()
    vm_id = await bench.local(before)
    await before.stop()
    await bench.vms(command="no-such-program")
    assert "no-such-program" in await bench.until_failed(vm_id)


async def test_a_vm_whose_user_was_removed_is_not_started_again(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = await bench.local(vms)
    await bench.until_online(vm_id)
    async with bench.store.write() as connection:
        await connection.execute(delete(schema.users).where(schema.users.c.id == "user-1"))
    await bench.lines.say(vm_id, "crash")
    await no_longer_watched(vm_id)
    assert bench.lines.connections[vm_id] == 1
    assert vm_id not in bench.lines.failures


async def test_termination_closes_the_line_and_stops_the_process(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = await bench.local(vms)
    await bench.until_online(vm_id)
    await vms.terminate(MEMBER, vm_id)
    await bench.until_offline(vm_id)
    assert (await bench.row(vm_id)).state == "terminated"
    assert bench.lines.ended == [vm_id]
    assert bench.lines.closed[0] == (vm_id, LineEnd.TERMINATED)
    assert bench.time.slept == []


async def test_termination_is_for_those_who_may_and_twice_is_like_once(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = (await vms.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    for principal, machine_id in ((STRANGER, vm_id), (ADMIN, new_id()), (ADMIN, "")):
        with pytest.raises(NotFound):
            await vms.terminate(principal, machine_id)
    await vms.terminate(ADMIN, vm_id)
    await vms.terminate(MEMBER, vm_id)
    assert (await bench.row(vm_id)).detail == "terminated by admin"


async def test_a_terminated_vm_cannot_fail_any_more(bench: Bench) -> None:
    vms = await bench.vms()
    vm_id = (await vms.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    other = (await vms.schedule(MEMBER, "user-1", base_url=URL)).vm_id
    async with bench.store.write() as connection:
        await connection.execute(
            update(schema.machines).where(schema.machines.c.id == vm_id).values(state="terminated")
        )
    bench.time.pass_limit(CONNECT_S)
    await bench.until_failed(other)
    await vms.stop()
    assert vm_id not in bench.lines.failures
    assert (await bench.row(vm_id)).state == "terminated"
