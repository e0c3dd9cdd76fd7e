"""Devices that are away: what waits for them, what is sent again, and what ends without them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.agp import ScriptedDevice, device_of, events_of, new_device, register
from tests.support.control import TestUser, running
from tests.support.eventually import eventually
from trunkline.control.tuning import Tuning

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

QUICK = Tuning(sweep_s=0.02)


@pytest_asyncio.fixture(loop_scope="module")
async def device(user: TestUser) -> AsyncIterator[ScriptedDevice]:
    """For tests that break its line themselves."""
    yield await new_device(user)


async def _gone(user: TestUser) -> None:
    """The control plane knows that the user's one device is away."""
    await eventually(
        lambda: user.ok("GET", "/machines"), lambda page: not page["items"][0]["online"]
    )


async def test_a_device_that_never_came_yet_gets_what_was_said_before(user: TestUser) -> None:
    made = await register(user)
    session_id = await user.session()
    await user.say(session_id, "are you there?")
    async with device_of(user, made) as device:
        await device.prompt("are you there?")


@pytest.mark.proves("003-2-routes-are-cleaned-up")
async def test_a_device_that_left_is_offline_and_gets_nothing_any_more(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    await device.leave()
    await _gone(user)
    await user.say(session_id, "hello?")
    said, waits = await events_of(user, session_id)
    assert (said["type"], waits["type"]) == ("user_message", "session_status")
    assert (waits["machine"], waits["held"]) == ("offline", True)
    assert device.received == []


@pytest.mark.proves("notes-4-answer-after-reconnect")
async def test_an_answer_may_come_after_a_reconnect_from_the_app_s_own_file(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    await user.say(session_id, "work")
    prompt = await device.prompt("work")
    await device.drop()
    async with device.again() as back:
        await back.respond(prompt, "done meanwhile")
        async with user.reader(session_id) as reader:
            assert (await reader.until_type("execution_complete"))["content"] == "done meanwhile"


async def test_a_session_that_was_made_while_its_device_was_away_gets_the_app_it_asks_for(
    user: TestUser,
) -> None:
    device = await new_device(user, agent_apps=["first"])
    await device.leave()
    await _gone(user)
    session_id = await user.session(agent_config={"agent_app": "special"})
    await user.say(session_id, "hello")
    async with device.again() as back:
        assert (await back.prompt("hello"))["payload"]["agent_app"] == "special"


async def test_a_restart_does_not_make_such_a_turn_wait_for_ever(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        await register(user)
        session_id = await user.session()
        await user.say(session_id, "are you there?")
    async with running(tmp_path / "data", tuning=QUICK, machine_away_s=0.1) as control:
        same = TestUser(control, user.id, user.token)
        async with same.reader(session_id) as reader:
            assert (await reader.until_type("execution_error"))["code"] == "MACHINE_OFFLINE"
