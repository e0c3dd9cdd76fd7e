"""Machines that lose their sessions, or cannot start them: turns that wait for a person go on,
what cannot go on ends once, and the next message finds a way (docs/protocols/capabilities.md)."""

from typing import Any

import pytest

from tests.support.control import Control, TestUser
from tests.support.eventually import eventually
from tests.support.told import said, started
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def waiting(user: TestUser) -> list[str]:
    return [one["request_id"] for one in (await user.ok("GET", "/approvals"))["items"]]


async def back(user: TestUser, vm: ScriptedVm) -> ScriptedVm:
    again = user.again(vm)
    await again.connect()
    await again.authenticate("seq", "batch")
    return again


async def asking(user: TestUser, vm: ScriptedVm, session: str) -> str:
    """A turn that waits for a person."""
    turn = await user.say(session, "one")
    await said(vm, "one")
    await vm.event(session, seq=1, type="approval_request", request_id="q", turn_id=turn)
    await eventually(lambda: waiting(user), lambda seen: seen == ["q"])
    return turn


@pytest.mark.parametrize("lists_first", [True, False])
async def test_a_kept_turn_whose_session_does_not_run_goes_on_after_a_restart_of_the_machine(
    control: Control, lists_first: bool
) -> None:
    user = await control.user()
    vm = await user.vm("seq", "batch")
    session, other = await user.session(), await user.session()
    await vm.heartbeat(session, other)
    turn = await asking(user, vm, session)
    await user.say(other, "lost")
    await said(vm, "lost")
    await user.until_turns(other, "sent")
    await vm.drop()
    again = await back(user, vm)
    if lists_first:
        await again.heartbeat(other)
    await again.send({"type": "resume", "pending_ids": [], "turns": [turn]})
    await again.expect("resume_response")
    if not lists_first:
        assert again.of_type("start_session") == []
        await again.heartbeat(other)
    await said(again, "lost")
    assert (await started(again, session))["acked"] == 1
    await again.event(session, seq=2, type="approval_request", request_id="q", turn_id=turn)
    await user.ok("POST", "/approvals/q", {"confirmed": True})
    await again.expect("approval_response")
    await again.event(session, seq=3, type="execution_complete", content="ok", turn_id=turn)
    await user.until_turns(session, "completed")
    assert [one["session_id"] for one in again.of_type("user_message")] == [other]
    assert len(again.of_type("start_session")) == 1
    await again.leave()


async def test_an_answer_for_a_session_that_does_not_run_any_more_starts_it_first(
    control: Control,
) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        await vm.heartbeat(session)
        await asking(user, vm, session)
        await vm.heartbeat()
        await vm.request(session, "get_session")  # answered after what was sent before
        vm.received.clear()
        await user.ok("POST", "/approvals/q", {"confirmed": True})
        await vm.expect("approval_response")
        kinds = [message["type"] for message in vm.received]
        assert [kind for kind in kinds if kind != "ack"] == ["start_session", "approval_response"]


@pytest.mark.parametrize(
    "end",
    [
        {"type": "execution_error", "code": "MACHINE_RESTARTED", "error": "x"},
        {"type": "execution_error", "code": "SESSION_CRASHED", "error": "x"},
        {"type": "execution_complete", "cancelled": True},
    ],
)
async def test_a_turns_end_settles_its_questions(control: Control, end: dict[str, Any]) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        turn = await asking(user, vm, session)
        async with user.reader(session) as reader:
            await vm.event(session, seq=2, **end, turn_id=turn)
            settled = await reader.until_type("approval_resolved")
            assert settled["request_id"] == "q"
            assert settled["confirmed"] is False
        assert await waiting(user) == []
        path = f"/approvals?session_id={session}&state=denied"
        assert len((await user.ok("GET", path))["items"]) == 1
        status, body = await user.call("POST", "/approvals/q", {"confirmed": True})
        assert (status, body["error"]["code"]) == (409, "ALREADY_ANSWERED")


def starts(vm: ScriptedVm, session: str) -> int:
    return sum(one["data"]["session_id"] == session for one in vm.of_type("start_session"))


async def test_a_session_that_the_machine_refuses_is_started_again_by_the_next_message(
    control: Control,
) -> None:
    user = await control.user()
    async with await user.vm("seq", "batch") as vm:
        session = await user.session()
        await started(vm, session)
        async with user.reader(session) as reader:
            refusal = {"type": "execution_error", "error": "no room", "code": "SESSION_LIMIT"}
            await vm.event(session, seq=1, **refusal)
            assert (await reader.until_type("execution_error"))["code"] == "SESSION_LIMIT"
        await user.say(session, "try again")
        await said(vm, "try again")
        assert starts(vm, session) == 2
        await user.until_turns(session, "sent")
