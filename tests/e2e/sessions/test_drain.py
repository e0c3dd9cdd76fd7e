"""A control plane that goes down waits for the requests of its machines, but not for ever."""

import asyncio
from pathlib import Path

import pytest

from tests.support.control import running
from tests.support.eventually import WAIT_S
from tests.support.gate import gated_tools, mcp_call
from tests.support.orgs import admin_of_new_org
from trunkline import limits
from trunkline.control.tuning import DEFAULT, Tuning


@pytest.mark.parametrize("in_time", [True, False])
async def test_a_request_that_is_answered_in_time_is_kept_and_one_that_is_not_is_given_up(
    tmp_path: Path, in_time: bool
) -> None:
    assert DEFAULT.drain_work_s < limits.DRAIN_TIMEOUT_S - 1
    tuning = DEFAULT if in_time else Tuning(drain_work_s=0.05)
    server = running(tmp_path / "data", tuning=tuning, mcp_allowed_hosts="127.0.0.1")
    user = await admin_of_new_org(await server.__aenter__())
    async with gated_tools(user) as gate:
        vm = await user.vm()
        session = await user.session()
        await vm.send(mcp_call(session, "slow", "gate"))
        await gate.reached.wait()
        stopping = asyncio.create_task(server.__aexit__(None, None, None))
        assert await vm.closed() == 1001
        if in_time:
            gate.opened.set()
        async with asyncio.timeout(WAIT_S):
            await stopping
        await vm.leave()
    async with running(tmp_path / "data") as control:
        user.control = control
        async with user.again(vm) as again:
            await again.send({"type": "resume", "pending_ids": ["slow"]})
            results = (await again.expect("resume_response"))["results"]
            assert results["slow"]["status"] == ("completed" if in_time else "not_found")
