"""A turn's end is shown once, also when the control plane is killed between two ends of it."""

from typing import Any

import pytest

from tests.support.control import ControlProcess, TestUser
from tests.support.told import said
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return {"machine_away_s": 0.1}


TERMINAL = ("execution_complete", "execution_error")


async def ends(user: TestUser, session: str) -> list[dict[str, Any]]:
    """The terminal events of the log."""
    page = await user.ok("GET", f"/sessions/{session}/events?limit=1000")
    return [one["event"] for one in page["items"] if one["event"]["type"] in TERMINAL]


async def back(user: TestUser, vm: ScriptedVm, *capabilities: str) -> ScriptedVm:
    again = user.again(vm)
    await again.connect()
    await again.authenticate(*capabilities)
    return again


async def ended_for_a_lost_machine(user: TestUser, vm: ScriptedVm, session: str) -> str:
    """A turn that we ended because its machine did not come back."""
    turn = await user.say(session, "one")
    await said(vm, "one")
    await vm.drop()
    await user.until_turns(session, "failed")
    return turn


@pytest.mark.parametrize("capabilities", [[], ["batch"], ["seq"]])
async def test_the_late_end_of_a_turn_that_was_ended_before_a_restart_is_not_shown(
    process: ControlProcess, capabilities: list[str]
) -> None:
    user = await process.user()
    vm = await user.vm(*capabilities)
    session = await user.session()
    turn = await ended_for_a_lost_machine(user, vm, session)
    await process.kill()
    await process.start()
    again = await back(user, vm, *capabilities)
    late: dict[str, Any] = {"type": "execution_complete", "content": "too late"}
    if capabilities:
        late["turn_id"] = turn
    first, second = (1, 2) if "seq" in capabilities else (None, None)
    await again.event(session, seq=first, **late)
    await again.event(session, seq=second, type="text_chunk", content="marker")
    async with user.reader(session) as reader:
        await reader.until_text("marker")
    assert [end.get("code") for end in await ends(user, session)] == ["MACHINE_OFFLINE"]
    if "seq" in capabilities:
        await again.expect("ack", lambda message: message["acked"] == {session: 2})
        await again.heartbeat(session)
    # What it owed it has paid: the next message's end is its own.
    await user.say(session, "two")
    await said(again, "two")
    third = 3 if "seq" in capabilities else None
    await again.event(session, seq=third, type="execution_complete", content="answer two")
    await user.until_turns(session, "failed", "completed")
    assert [end.get("content") for end in await ends(user, session)] == [None, "answer two"]
    await again.leave()


async def test_what_was_acknowledged_and_not_shown_is_no_gap_after_a_restart(
    process: ControlProcess,
) -> None:
    user = await process.user()
    vm = await user.vm("seq", "batch")
    session = await user.session()
    turn = await user.say(session, "one")
    await said(vm, "one")
    for seq in (1, 2):
        await vm.event(session, seq=seq, type="execution_complete", turn_id=turn)
    await vm.expect("ack", lambda message: message["acked"] == {session: 2})
    await process.kill()
    await vm.closed()
    await vm.leave()
    await process.start()
    again = user.again(vm)
    await again.connect()
    async with again:
        assert (await again.authenticate("seq", "batch"))["data"]["acked"] == {session: 2}
        await again.event(session, seq=3, type="text_chunk", content="marker")
        await again.expect("ack", lambda message: message["acked"] == {session: 3})
    page = await user.ok("GET", f"/sessions/{session}/events?limit=100")
    kinds = [one["event"]["type"] for one in page["items"]]
    assert kinds == ["user_message", "execution_complete", "text_chunk"]
