"""Messages while a turn runs, as clients and machines see them on their wires."""

from typing import Any

import pytest

from tests.support.control import Control, TestUser
from tests.support.eventually import eventually
from tests.support.vm import ScriptedVm

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


async def events(user: TestUser, session: str, *kinds: str) -> list[Json]:
    page = await user.ok("GET", f"/sessions/{session}/events?limit=1000")
    found = [one["event"] for one in page["items"]]
    return [one for one in found if not kinds or one["type"] in kinds]


async def told(vm: ScriptedVm, kind: str, text: str) -> Json:
    """What the machine is told with these words."""
    return await vm.expect(kind, lambda message: message["data"]["message"] == text)


async def running(user: TestUser, *capabilities: str) -> tuple[ScriptedVm, str, str]:
    """A machine with a turn that has begun."""
    vm = await user.vm(*capabilities)
    session = await user.session()
    turn_id = await user.say(session, "go")
    await vm.expect("user_message")
    return vm, session, turn_id


async def test_what_a_turn_ends_without_becomes_the_next_turn_under_its_own_id(
    control: Control,
) -> None:
    user = await control.user()
    vm, session, turn_id = await running(user, "seq", "steer")
    named = {"when_busy": "steer", "client_message_id": "mine", "metadata": {"a": 1}}
    assert await user.say(session, "left", **named) == turn_id
    steer = await told(vm, "steer", "left")
    message_id = steer["data"].pop("message_id")
    assert steer["data"] == {"steers": turn_id, "message": "left", "metadata": {"a": 1}}
    await vm.event(session, 1, type="execution_complete", content="done", turn_id=turn_id)
    said = await told(vm, "user_message", "left")
    assert said["data"]["turn_id"] == message_id
    assert said["data"]["metadata"] == {"a": 1}
    assert await user.say(session, "left", **named) == message_id
    [missed] = await events(user, session, "steer_missed")
    assert (missed["turn_id"], missed["steers"]) == (message_id, turn_id)
    await vm.drop()


async def test_a_line_that_breaks_is_told_again_what_was_not_taken(control: Control) -> None:
    user = await control.user()
    vm, session, turn_id = await running(user, "seq", "steer")
    for message in ("first", "second"):
        await user.say(session, message, when_busy="steer")
    [one, two] = [
        (await told(vm, "steer", text))["data"]["message_id"] for text in ("first", "second")
    ]
    await vm.event(session, 1, type="steer_taken", turn_id=turn_id, message_id=one)
    await eventually(lambda: events(user, session, "steer_taken"))
    await vm.drop()
    again = user.again(vm)
    await again.connect()
    await again.authenticate("seq", "steer")
    await again.heartbeat(session)
    await again.send({"type": "resume", "pending_ids": [], "turns": [turn_id]})
    assert (await again.expect("steer"))["data"]["message_id"] == two
    await again.event(session, 2, type="steer_taken", turn_id=turn_id, message_id=two)
    await again.event(session, 3, type="execution_complete", content="", turn_id=turn_id)
    await eventually(lambda: events(user, session, "execution_complete"))
    assert await events(user, session, "steer_missed") == []
    await again.drop()


@pytest.mark.parametrize("capabilities", [(), ("seq",), ("steer",)], ids=["", "seq", "steer alone"])
async def test_where_it_cannot_be_done_the_message_opens_a_turn_and_waits(
    control: Control, capabilities: tuple[str, ...]
) -> None:
    user = await control.user()
    vm, session, turn_id = await running(user, *capabilities)
    other = await user.say(session, "left", when_busy="steer")
    assert other != turn_id
    await told(vm, "user_message", "left")
    assert not [one for one in vm.received if one["type"] == "steer"]
    assert "steers" not in (await events(user, session, "user_message"))[1]
    await vm.drop()


async def test_a_runtime_that_takes_nothing_in_a_turn_gets_a_turn(control: Control) -> None:
    user = await control.user()
    vm = await user.vm("seq", "steer")
    session = await user.session(runtime_type="openclaw")
    turn_id = await user.say(session, "go")
    await vm.expect("user_message")
    assert await user.say(session, "left", when_busy="steer") != turn_id
    await vm.drop()


async def test_a_cancel_takes_with_it_what_was_not_taken(control: Control) -> None:
    user = await control.user()
    vm, session, turn_id = await running(user, "seq", "steer")
    await user.say(session, "left", when_busy="steer")
    await vm.expect("steer")
    await user.ok("POST", f"/sessions/{session}/cancel", {})
    await vm.expect("cancel")
    await vm.event(session, 1, type="execution_complete", content="", turn_id=turn_id)
    await eventually(lambda: events(user, session, "execution_complete"))
    await user.say(session, "right")
    await told(vm, "user_message", "right")
    assert await events(user, session, "steer_missed") == []
    await vm.drop()


async def test_nobody_says_how_a_message_waits_in_words_that_are_not_known(
    control: Control,
) -> None:
    user = await control.user()
    vm, session, _ = await running(user)
    for wrong in ("now", "", None, 1, ["steer"]):
        body = {"message": "x", "when_busy": wrong}
        status, refusal = await user.call("POST", f"/sessions/{session}/messages", body)
        assert (status, refusal["error"]["code"]) == (400, "INVALID_REQUEST")
    await vm.event(session, type="steer_missed", turn_id="x", message_id="x", steers="y")
    await vm.text(session, "after")
    await eventually(lambda: events(user, session, "text_chunk"))
    assert await events(user, session, "steer_missed") == []
    await vm.drop()
