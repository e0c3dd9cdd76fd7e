"""A disk that stalls: machines are not read, and not blamed for the silence (DESIGN 3)."""

import asyncio

import aiohttp
import pytest
from sqlalchemy import select

from tests.support.admission import again_url
from tests.support.clock import Clock
from tests.support.control import LocalControl, TestUser
from tests.support.raw_ws import RawWs
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.control.store.schema import erasures
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


async def test_readers_and_operators_are_told_why_nothing_moves(
    control: LocalControl, user: TestUser
) -> None:
    metric = 'storage_not_writable{cause="disk full"}'
    async with await user.vm() as vm:
        session = await user.session()
        await vm.expect("start_session")
        async with user.reader(session) as reader:
            assert f"{metric} 0.0" in await text(control, "/metrics")
            control.disk.is_full = True
            await vm.text(session, "to the disk")
            said = "stands still: disk full"
            await reader.until(lambda seen: said in seen.comments, "reason")
            assert "disk full" in await text(control, "/readyz")
            assert f"{metric} 1.0" in await text(control, "/metrics")
            for _ in range(int(limits.READER_HEARTBEAT_S)):
                control.sweep()  # until every reader has had its heartbeat
            await reader.until(lambda seen: seen.comments.count(said) > 1, "reason again")
            async with user.reader(session) as newcomer:
                await newcomer.until(lambda seen: said in seen.comments, "reason")
            for method, path, body in (
                ("POST", "/sessions", {}),
                ("POST", f"/sessions/{session}/messages", {"message": "hello?"}),
                ("POST", f"/sessions/{session}/cancel", {}),
                ("DELETE", f"/sessions/{session}", None),
                ("DELETE", f"/sessions/{session}?erase=true", None),
            ):
                status, answer = await user.call(method, path, body)
                assert (status, answer["error"]["code"]) == (507, "DISK_FULL"), (method, path)
            control.disk.heal()
            await reader.until_text("to the disk")
            await reader.until(lambda seen: "goes on" in seen.comments, "end of it")
            assert await text(control, "/readyz") == '{"status":"ok"}'
            assert f"{metric} 0.0" in await text(control, "/metrics")
            # What was refused has left nothing behind.
            assert [event.json["type"] for event in reader.events] == ["text_chunk"]
            assert len((await user.ok("GET", "/sessions"))["items"]) == 1
            assert await control.core.store.all(select(erasures)) == []  # nor at the next start


async def text(control: LocalControl, path: str) -> str:
    async with aiohttp.ClientSession() as http, http.get(control.url + path) as answer:
        return await answer.text()


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
