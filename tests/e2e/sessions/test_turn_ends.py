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


@pytest.mark.parametrize("restart_after_the_message", [False, True])
async def test_a_new_message_makes_an_end_without_a_name_believable_again(
    process: ControlProcess, restart_after_the_message: bool
) -> None:
    """The machine lost the old turn: were the new one's end hidden, it would never end."""
    user = await process.user()
    vm = await user.vm()
    session = await user.session()
    await ended_for_a_lost_machine(user, vm, session)
    if not restart_after_the_message:
        await process.kill()
        await process.start()
    again = await back(user, vm)
    await again.heartbeat(session)
    await user.say(session, "two")
    await said(again, "two")
    if restart_after_the_message:
        await user.until_turns(session, "failed", "sent")
        await process.kill()
        await again.closed()
        await again.leave()
        await process.start()
        again = await back(user, vm)
        await again.heartbeat(session)
    await again.event(session, type="execution_complete", content="answer two")
    await user.until_turns(session, "failed", "completed")
    assert [end.get("content") for end in await ends(user, session)] == [None, "answer two"]
    await again.leave()


async def test_the_end_of_a_turn_that_ended_itself_is_not_shown_again_after_a_restart(
    process: ControlProcess,
) -> None:
    """A machine that was restarted too may not know that it had ended the turn."""
    user = await process.user()
    vm = await user.vm("seq")
    session = await user.session()
    turn = await user.say(session, "one")
    await said(vm, "one")
    await vm.event(session, seq=1, type="execution_complete", content="done", turn_id=turn)
    await user.until_turns(session, "completed")
    await process.kill()
    await vm.closed()
    await vm.leave()
    await process.start()
    again = await back(user, vm, "seq")
    await again.event(session, seq=2, type="execution_error", error="restarted", turn_id=turn)
    await again.event(session, seq=3, type="text_chunk", content="marker")
    async with user.reader(session) as reader:
        await reader.until_text("marker")
    assert [end["type"] for end in await ends(user, session)] == ["execution_complete"]
    assert await user.turn_states(session) == ["completed"]
    await again.leave()
