"""Machines that are away or gone, and what is sent for sessions of other machines."""

import json
from pathlib import Path

import pytest

from tests.support.control import Control, TestUser, running
from tests.support.told import said, started
from tests.support.vm import ScriptedVm

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


async def test_messages_for_a_machine_that_is_briefly_away_arrive_in_order_when_it_returns(
    user: TestUser,
) -> None:
    vm = await user.vm()
    one, other = await user.session(), await user.session()
    await started(vm, other)
    async with user.reader(one) as reader:
        await vm.drop()
        await reader.until_type("session_status")
    for number in range(10):
        await user.say(one if number % 2 else other, f"m{number}")
    late = await user.session(machine_id=(await user.ok("GET", "/machines"))["items"][0]["id"])
    await user.ok("PATCH", f"/sessions/{one}/config", {"temperature": 0})
    await user.say(late, "last")
    async with user.again(vm) as back:
        await said(back, "last")
        order: dict[str, list[str]] = {}
        for message in back.received:
            if message["type"] != "init":
                session = message.get("session_id") or message["data"]["session_id"]
                told = message["data"].get("message", message["type"])
                order.setdefault(session, []).append(told)
        messages = [f"m{number}" for number in range(10)]
        assert order == {
            other: messages[::2],
            one: [*messages[1::2], "config_update"],
            late: ["start_session", "last"],
        }


async def test_a_vm_that_is_scheduled_and_not_yet_there_gets_what_was_said_before_it_came(
    user: TestUser,
) -> None:
    scheduled = await user.schedule()
    session_id = await user.session()
    await user.say(session_id, "are you there?")
    vm = ScriptedVm(scheduled["ws_url"], user.id, scheduled["token"], scheduled["ticket"])
    async with vm:
        await said(vm, "are you there?")
        assert [one["type"] for one in vm.received] == ["init", "start_session", "user_message"]


async def test_a_machine_that_is_gone_refuses_messages_and_its_open_turns_fail(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", machine_away_s=0) as control:
        user = await control.user()
        vm = await user.vm()
        session_id = await user.session()
        turn_id = await user.say(session_id, "work")
        await said(vm, "work")
        async with user.reader(session_id) as reader:
            await vm.drop()
            error = await reader.until_type("execution_error")
            assert (error["turn_id"], error["code"]) == (turn_id, "MACHINE_OFFLINE")
        status, body = await user.call("POST", f"/sessions/{session_id}/messages", {"message": "?"})
        assert (status, body["error"]["code"]) == (503, "MACHINE_OFFLINE")
        status, body = await user.call("POST", "/sessions", {})
        assert (status, body["error"]["code"]) == (503, "NO_MACHINE")
        async with user.again(vm) as back:
            await user.say(session_id, "welcome back")
            await said(back, "welcome back")


@pytest.mark.proves("000-8-unknown-session-is-an-error-message", "000-3-session-id-required")
async def test_what_is_sent_for_another_session_is_refused_and_written_nowhere(
    control: Control, user: TestUser, vm: ScriptedVm
) -> None:
    mine = await user.session()
    stranger = await control.user("eve")
    async with await stranger.vm() as their_vm, await user.vm() as second:
        theirs = await stranger.session()
        await started(their_vm, theirs)
        neighbours = await user.session()  # the same user's, on the newer machine
        await started(second, neighbours)
        for wrong in (theirs, neighbours, "no-such-session", "", "../../etc/passwd", "x" * 5000):
            vm.received.clear()
            await vm.text(wrong, "forged")
            error = await vm.expect("error")
            assert error["error"]["code"] == "SESSION_NOT_FOUND"
            assert error["session_id"] == wrong[:200]
            vm.received.clear()
            await vm.event(wrong, type="execution_complete", content="forged")
            assert (await vm.expect("error"))["error"]["code"] == "SESSION_NOT_FOUND"
            vm.received.clear()
            report = {"model": "m", "tokens_in": 1, "tokens_out": 1}
            await vm.send(
                {
                    "type": "fire_and_forget",
                    "session_id": wrong,
                    "method": "usage_report",
                    "params": report,
                }
            )
            assert (await vm.expect("error"))["error"]["code"] == "SESSION_NOT_FOUND"
            answer = await vm.request(wrong, "get_session", session_id=mine)
            assert answer["result"] is None
            assert answer["error"]["code"] == "SESSION_NOT_FOUND"
        await their_vm.text(theirs, "real")
        await second.text(neighbours, "real")
        await vm.text(mine, "real")
        for owner, session_id in ((stranger, theirs), (user, neighbours), (user, mine)):
            async with owner.reader(session_id) as reader:
                await reader.until_text("real")
                assert [one.data for one in reader.events] == [
                    json.dumps({"type": "text_chunk", "content": "real"})
                ]
        assert (await stranger.ok("GET", "/usage"))["items"] == []


async def test_a_foreign_session_in_a_batch_stops_nothing_else_of_it(
    control: Control, user: TestUser
) -> None:
    async with await user.vm("batch") as vm:
        session_id = await user.session()
        data = '{"type":"text_chunk","content":"mine"}'
        await vm.send(
            {
                "type": "batch",
                "events": [
                    {"session_id": "no-such-session", "data": "{}"},
                    {"session_id": session_id, "data": data},
                ],
            }
        )
        assert (await vm.expect("error"))["session_id"] == "no-such-session"
        async with user.reader(session_id) as reader:
            await reader.until_text("mine")
