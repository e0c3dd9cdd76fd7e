"""What a VM may come with, and for how long: join codes over a restart, tokens that are revoked."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from tests.support.vm_bench import ADMIN, CONNECT_S, Bench, vm_bench
from trunkline.control.access.auth import Principal
from trunkline.control.access.keys import Keys
from trunkline.control.store import schema

pytestmark = pytest.mark.slow  # it starts daemons

MEMBER = Principal("user-1", "org-1", "member")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with vm_bench(tmp_path, Keys.open(tmp_path / "keys")) as bench:
        yield bench


async def test_after_a_restart_a_machine_is_expected_as_long_as_its_join_code_is_good(
    bench: Bench,
) -> None:
    first_vms = await bench.vms()
    vm_id = await first_vms.expect(MEMBER, "user-1", "laptop", within_s=CONNECT_S)
    code = {"hash": "h", "user_id": "user-1", "machine_id": vm_id, "created_at": 1}
    ends_at = bench.time.now_ms + 900_000
    made = {"makes_machine": True, "names_itself": False, "expires_at": ends_at, **code}
    async with bench.store.write() as connection:
        await connection.execute(insert(schema.join_codes).values(**made))
    await first_vms.stop()
    await bench.vms()
    assert await bench.until_failed(vm_id) == "did not connect within 900 s"


async def test_a_local_vm_whose_token_is_revoked_is_started_again_with_the_next_one(
    bench: Bench,
) -> None:
    vms = await bench.vms()
    vm_id = await bench.local(vms)
    await bench.until_online(vm_id)
    await vms.revoke_tokens(ADMIN, vm_id)
    await bench.until_online(vm_id, lives=2)
    assert (await bench.row(vm_id)).detail == "starting again, it had its token revoked"
    assert bench.lines.failures == {}
