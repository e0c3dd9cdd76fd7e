"""A control plane that goes down waits for the requests of its machines, but not for ever."""

import asyncio
from pathlib import Path

import pytest

from tests.support.control import ADMIN, Control, running
from tests.support.gate import gated_tools, mcp_call
from tests.support.orgs import admin_of_new_org
from trunkline import limits
from trunkline.control.server import Server
from trunkline.control.settings import Settings


def settings(data: Path) -> Settings:
    return Settings(port=0, data=str(data), admin_token=ADMIN, mcp_allowed_hosts="127.0.0.1")


@pytest.mark.parametrize("in_time", [True, False])
async def test_a_request_that_is_answered_in_time_is_kept_and_one_that_is_not_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_time: bool
) -> None:
    assert limits.DRAIN_WORK_S < limits.DRAIN_TIMEOUT_S - 1
    server = Server(settings(tmp_path / "data"))
    info = await server.start()
    user = await admin_of_new_org(Control(info.url))
    async with gated_tools(user) as gate:
        vm = await user.vm()
        session = await user.session()
        await vm.send(mcp_call(session, "slow", "gate"))
        await gate.reached.wait()
        if not in_time:
            monkeypatch.setattr(limits, "DRAIN_WORK_S", 0.05)
        stopping = asyncio.create_task(server.stop())
        assert await vm.closed() == 1001
        if in_time:
            gate.opened.set()
        async with asyncio.timeout(15):
            await stopping
        await vm.leave()
    async with running(tmp_path / "data") as control:
        user.control = control
        async with user.again(vm) as again:
            await again.send({"type": "resume", "pending_ids": ["slow"]})
            results = (await again.expect("resume_response"))["results"]
            assert results["slow"]["status"] == ("completed" if in_time else "not_found")
