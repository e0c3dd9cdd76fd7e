"""A disk that stalls: machines are not read, and not blamed for the silence (DESIGN 3)."""

import asyncio

import pytest

from tests.support.admission import again_url
from tests.support.clock import Clock
from tests.support.control import LocalControl, TestUser
from tests.support.raw_ws import RawWs
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def now() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    return Tuning(stall_s=0.01, retry_s=0.1, auth_timeout_s=2.0)


async def test_no_line_is_taken_for_dead_while_we_do_not_listen(
    control: LocalControl, now: Clock, user: TestUser
) -> None:
    async with await user.vm() as vm:
        session = await user.session()
        await vm.expect("start_session")
        control.disk.is_full = True
        await vm.text(session, "to the disk")
        await control.stalled()
        for _ in range(3):
            await now.pass_time(2 * limits.HEARTBEAT_SILENCE_S)
            control.sweep()
        control.disk.heal()
        async with user.reader(session) as reader:
            await reader.until_text("to the disk")
        await control.stalled(False)
        await vm.text(session, "and on")
        async with user.reader(session) as reader:
            await reader.until_text("and on")
        await now.pass_time(2 * limits.HEARTBEAT_SILENCE_S)
        control.sweep()  # now it is the machine that was silent
        assert await vm.closed() == 4008


async def test_a_line_that_comes_during_a_stall_is_read_when_it_is_over(
    control: LocalControl, user: TestUser
) -> None:
    async with await user.vm() as vm:
        session = await user.session()
        await vm.expect("start_session")
        control.disk.is_full = True
        await vm.text(session, "to the disk")
        await control.stalled()
        async with await user.vm() as newcomer:
            pings = [asyncio.create_task(one.ping()) for one in (vm, newcomer)]
            for _ in range(5):
                await user.ok("GET", "/machines")  # time enough for an answer
            assert not any(ping.done() for ping in pings)
            control.disk.heal()
            await asyncio.gather(*pings)
            other = await user.session()
            await newcomer.expect("start_session")
            await newcomer.text(other, "heard")
            async with user.reader(other) as reader:
                await reader.until_text("heard")


async def test_a_token_that_came_in_time_may_take_long_to_check(
    control: LocalControl, user: TestUser
) -> None:
    async with await user.vm() as vm:
        session = await user.session()
        await vm.expect("start_session")
        scheduled = await user.schedule()
        control.disk.stop()
        await vm.text(session, "to the disk")
        await control.stalled()
        healed = asyncio.Event()
        with control.records.before("credentials", healed.wait):
            newcomer = ScriptedVm(user.ws_url, user.id, scheduled["token"], scheduled["ticket"])
            await newcomer.connect()
            await newcomer.send({"type": "auth", "token": scheduled["token"]})
            async with await RawWs(again_url(user)).connect() as silent:
                assert await silent.closed() == 4001  # so much time has passed
            assert newcomer.received == []
            control.disk.heal()
            healed.set()
            await newcomer.expect("init")
        await newcomer.leave()


async def test_a_session_that_cannot_be_made_is_not_half_there(
    control: LocalControl, user: TestUser
) -> None:
    async with await user.vm():
        with control.disk.unreadable():
            status, _ = await user.call("POST", "/sessions", {})
        assert status == 500
        assert (await user.ok("GET", "/sessions"))["items"] == []
