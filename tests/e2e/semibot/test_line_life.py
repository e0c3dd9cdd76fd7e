"""The life of one line, from `auth` to its end (source document 000 §1 to §3, §4.1, §8)."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.clock import Clock
from tests.support.control import Control, LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.faults import broken
from tests.support.vm import ScriptedVm
from trunkline import limits

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _machine(user: TestUser) -> dict[str, Any]:
    machines = (await user.ok("GET", "/machines"))["items"]
    assert len(machines) == 1
    return dict(machines[0])


@pytest.mark.proves(
    "000-2-life-of-a-line",
    "000-2-auth-then-init",
    "000-5.1-init-comes-first",
    "000-3-vm-messages-without-session",
    "000-4.4-no-response",
)
async def test_one_line_serves_a_session_from_start_to_stop(control: Control) -> None:
    user = await control.user()
    async with await user.vm() as vm:
        await vm.heartbeat()
        session = await user.session()
        await vm.expect("start_session", lambda one: one["data"]["session_id"] == session)
        await vm.heartbeat(session)
        async with user.reader(session) as reader:
            await user.say(session, "Hello?")
            await vm.expect("user_message", lambda one: one["session_id"] == session)
            await vm.text(session, "Hi")
            answer = await vm.request(session, "get_session", session_id=session)
            assert answer["result"]["session"]["id"] == session
            report = {"event": "tool.executed", "details": {}}
            await vm.send(
                {
                    "type": "fire_and_forget",
                    "session_id": session,
                    "method": "audit_log",
                    "params": report,
                }
            )
            await user.ok("POST", f"/sessions/{session}/cancel")
            await vm.expect("cancel")
            await vm.event(session, type="execution_complete", cancelled=True)
            await reader.until_type("execution_complete")
        await user.ok("DELETE", f"/sessions/{session}")
        await vm.expect("stop_session")
    kinds = [message["type"] for message in vm.received]
    assert kinds == ["init", "start_session", "user_message", "response", "cancel", "stop_session"]
    assert "session_id" not in vm.received[0]
    assert "session_id" not in vm.received[3]


@pytest.mark.proves("000-1-no-token-in-address")
@pytest.mark.parametrize("name", ["token", "jwt", "access_token"])
async def test_a_token_in_the_address_lets_nobody_in(control: Control, name: str) -> None:
    user = await control.user()
    scheduled = await user.schedule()
    url = f"{user.ws_url}?user_id={user.id}&{name}={scheduled['token']}"
    async with aiohttp.ClientSession() as http, http.ws_connect(url) as line:
        await line.send_json({"type": "heartbeat", "active_sessions": []})
        frame = await line.receive(timeout=10)
        assert frame.type is aiohttp.WSMsgType.CLOSE
        assert frame.data == 4001


@pytest.mark.proves("000-2-vm-closes-the-line")
async def test_a_machine_that_closes_its_line_is_offline_at_once(control: Control) -> None:
    user = await control.user()
    vm = await user.vm()
    await eventually(lambda: _machine(user), lambda one: one["online"])
    await vm.leave()
    gone = await eventually(lambda: _machine(user), lambda one: not one["online"])
    assert gone["state"] == "offline"


@pytest.mark.proves("000-4.1-heartbeat-keeps-the-line", "000-8-close-4008")
async def test_a_silent_line_is_closed_with_4008_and_one_that_beats_lives_on(
    tmp_path: Path,
) -> None:
    assert limits.HEARTBEAT_SILENCE_S == 3 * limits.HEARTBEAT_INTERVAL_S == 30
    clock = Clock()
    async with running(tmp_path / "data", now=clock) as control:
        silent_user, beating_user = await control.user("silent"), await control.user("beating")
        silent, beating = await silent_user.vm(), await beating_user.vm()
        session = await silent_user.session()
        async with silent_user.reader(session) as reader:
            for _ in range(4):
                await clock.pass_time(limits.HEARTBEAT_INTERVAL_S)
                await beating.heartbeat()
                await beating.ping()  # behind which the heartbeat is known to be heard
            control.sweep()
            assert await silent.closed() == 4008
            status = await reader.until_type("session_status")
            assert status["machine"] == "offline"
        assert beating.close_code is None
        session = await beating_user.session()
        await beating.expect("start_session", lambda one: one["data"]["session_id"] == session)
        await beating.leave()
        await silent.leave()


@pytest.mark.proves("000-4.1-active-sessions-count", "000-6-sessions-outlive-the-line")
async def test_a_session_that_a_returning_machine_lists_is_not_started_again(
    control: Control,
) -> None:
    user = await control.user()
    vm = await user.vm()
    kept, lost = await user.session(), await user.session()
    await vm.expect("start_session", lambda one: one["data"]["session_id"] == lost)
    await vm.heartbeat(kept, lost)
    await vm.drop()
    again = user.again(vm)
    await again.connect()
    await again.authenticate()
    await again.heartbeat(kept)
    await user.say(kept, "still there?")
    await user.say(lost, "and you?")
    await again.expect("user_message", lambda one: one["session_id"] == lost)
    started = [message["data"]["session_id"] for message in again.of_type("start_session")]
    assert started == [lost]
    said = [message["session_id"] for message in again.of_type("user_message")]
    assert said == [kept, lost]
    await again.leave()


@pytest.mark.proves(
    "000-1-reconnection-address",
    "000-1-token-alone-suffices",
    "000-6-reconnects-without-ticket",
    "000-6-init-again",
    "000-9-reconnection-by-token-alone",
)
async def test_a_line_that_broke_comes_back_with_its_token_alone(control: Control) -> None:
    user = await control.user()
    vm = await user.vm()
    session = await user.session()
    await vm.expect("start_session")
    await vm.drop()
    again = user.again(vm)
    assert "ticket" not in again.url
    await again.connect()
    init = await again.authenticate()
    assert init["data"]["user_id"] == user.id
    await again.text(session, "back")
    async with user.reader(session) as reader:
        await reader.until_text("back")
    await again.leave()


@pytest.mark.proves("000-8-close-4500")
async def test_a_fault_of_the_control_plane_is_a_4500_and_hurts_no_other_line(
    control: LocalControl,
) -> None:
    user = await control.user()
    healthy = await user.vm()
    with control.records.before("credentials", broken):
        scheduled = await user.schedule()
        vm = ScriptedVm(scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"])
        await vm.connect()
        await vm.send({"type": "auth", "token": vm.token})
        assert await vm.closed() == 4500
        await vm.leave()
    session = await user.session()
    await healthy.expect("start_session", lambda one: one["data"]["session_id"] == session)
    await healthy.leave()
