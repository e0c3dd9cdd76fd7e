"""A machine with `seq` that comes back as another process: no message goes to a session that does
not run there, however late the machine lists what it runs (docs/protocols/capabilities.md)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.control import Control, ControlProcess, TestUser, running
from tests.support.eventually import eventually
from tests.support.told import quiet, said, started
from tests.support.vm import ScriptedVm


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[Control]:
    async with running(tmp_path / "data") as made:
        yield made


async def states(user: TestUser, session: str) -> list[str]:
    snapshot = await user.ok("GET", f"/sessions/{session}/snapshot")
    return [turn["state"] for turn in snapshot["turns"]]


async def back(user: TestUser, vm: ScriptedVm) -> ScriptedVm:
    """The machine again, with nothing of its turns left, before it has listed its sessions."""
    again = user.again(vm)
    await again.connect()
    await again.authenticate("seq", "batch")
    await again.send({"type": "resume", "pending_ids": [], "turns": []})
    await again.expect("resume_response")
    return again


async def restarted(user: TestUser) -> tuple[ScriptedVm, str]:
    """A machine that was killed after its session had run, with a message held for it."""
    vm = await user.vm("seq", "batch")
    session = await user.session()
    turn = await user.say(session, "one")
    await said(vm, "one")
    await vm.heartbeat(session)
    await vm.event(session, seq=1, type="execution_complete", turn_id=turn)
    await eventually(lambda: states(user, session), lambda seen: seen == ["completed"])
    await vm.drop()
    await user.say(session, "two")
    return await back(user, vm), session


def told(vm: ScriptedVm) -> list[str]:
    kinds = (message["type"] for message in vm.received)
    return [kind for kind in kinds if kind in ("start_session", "user_message")]


async def test_a_held_message_waits_until_the_machine_has_listed_what_it_runs(
    control: Control,
) -> None:
    user = await control.user()
    vm, session = await restarted(user)
    async with vm:
        # An answered request: what could have been sent by now has been.
        await vm.request(session, "get_session")
        assert told(vm) == []
        await vm.heartbeat()
        await said(vm, "two")
        assert (await started(vm, session))["acked"] == 1
        assert told(vm) == ["start_session", "user_message"]


async def test_a_held_message_goes_straight_to_a_session_that_still_runs(control: Control) -> None:
    user = await control.user()
    vm, session = await restarted(user)
    async with vm:
        await vm.heartbeat(session)
        await said(vm, "two")
        await vm.heartbeat(session)
        await quiet(user, vm, session)
        assert told(vm) == ["user_message"]


async def test_a_new_session_need_not_wait_for_the_list_and_says_nothing_of_the_others(
    control: Control,
) -> None:
    user = await control.user()
    vm = await user.vm("seq", "batch")
    old = await user.session()
    await started(vm, old)
    await vm.heartbeat(old)
    await vm.request(old, "get_session")
    await vm.drop()
    async with await back(user, vm) as again:
        new = await user.session()
        await user.say(new, "to the new one")
        await said(again, "to the new one")
        assert told(again) == ["start_session", "user_message"]
        await user.say(old, "to the old one")
        await again.heartbeat(old)
        await said(again, "to the old one")
        assert [one["data"]["session_id"] for one in again.of_type("start_session")] == [new]


async def acked(vm: ScriptedVm, session: str, seq: int) -> None:
    await vm.expect("ack", lambda message: message["acked"] == {session: seq})


async def test_what_was_acknowledged_and_not_shown_is_no_gap_after_a_restart(
    tmp_path: Path,
) -> None:
    control = await ControlProcess(tmp_path / "data").start()
    try:
        user = await control.user()
        vm = await user.vm("seq", "batch")
        session = await user.session()
        turn = await user.say(session, "one")
        await said(vm, "one")
        for seq in (1, 2):
            await vm.event(session, seq=seq, type="execution_complete", turn_id=turn)
            await acked(vm, session, seq)
        await control.kill()
        await vm.closed()
        await vm.leave()
        await control.start()
        again = user.again(vm)
        await again.connect()
        async with again:
            assert (await again.authenticate("seq", "batch"))["data"]["acked"] == {session: 2}
            await again.event(session, seq=3, type="text_chunk", content="marker")
            await acked(again, session, 3)
        page = await user.ok("GET", f"/sessions/{session}/events?limit=100")
        kinds = [one["event"]["type"] for one in page["items"]]
        assert kinds == ["user_message", "execution_complete", "text_chunk"]
    finally:
        await control.terminate()
