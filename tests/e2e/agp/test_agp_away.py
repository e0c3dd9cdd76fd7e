"""Devices that are away: what waits for them, what is sent again, and what ends without them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.agp import ScriptedDevice, device_of, events_of, new_device, register
from tests.support.control import TestUser, running
from tests.support.eventually import eventually
from trunkline.control import server

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def device(user: TestUser) -> AsyncIterator[ScriptedDevice]:
    """For tests that break its line themselves."""
    yield await new_device(user)


async def _gone(user: TestUser) -> None:
    """The control plane knows that the user's one device is away."""
    await eventually(
        lambda: user.ok("GET", "/machines"), lambda page: not page["items"][0]["online"]
    )


async def test_a_message_for_a_device_that_is_away_waits_visibly_and_is_delivered_on_its_return(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    await device.drop()
    await _gone(user)
    turns = [await user.say(session_id, text) for text in ("one", "two")]
    waits = [one for one in await events_of(user, session_id) if one["type"] == "session_status"]
    assert [(one["machine"], one["held"]) for one in waits] == [("offline", True)] * 2
    async with device.again() as back:
        await back.respond(await back.prompt("one"), "1")
        await back.respond(await back.prompt("two"), "2")
        assert [one["payload"]["prompt_id"] for one in back.of("session.prompt")] == turns


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


async def test_a_prompt_of_which_nothing_was_heard_is_sent_again_under_the_same_id(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    await user.say(session_id, "lost?")
    lost = await device.prompt("lost?")
    await device.drop()
    async with device.again() as back:
        assert await back.prompt("lost?") == lost
        await back.respond(lost, "no")
        async with user.reader(session_id) as reader:
            await reader.until_type("execution_complete")


async def test_a_prompt_that_the_device_works_on_is_not_sent_again(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id, other = await user.session(), await user.session()
    await user.say(session_id, "work")
    await user.say(session_id, "wait")
    await user.say(other, "lost")
    prompt = await device.prompt("work")
    await device.prompt("lost")
    await device.text(prompt, "half, ")
    async with user.reader(session_id) as reader:
        await reader.until_text("half, ")
        await device.drop()
        async with device.again() as back:
            await back.prompt("lost")  # of which nothing was heard; it comes behind the others
            assert back.said() == ["lost"]
            await back.text(prompt, "whole")
            await back.respond(prompt)
            end = await reader.until_type("execution_complete")
            assert end["content"] == "half, whole"
            await back.prompt("wait")  # it waited its turn, over the break
            assert back.said() == ["lost", "wait"]


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


async def test_a_cancel_for_a_device_that_is_away_reaches_it_and_no_prompt_goes_out_again(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    first, second = await user.say(session_id, "one"), await user.say(session_id, "two")
    prompt = await device.prompt("one")
    await device.drop()
    await _gone(user)
    await user.ok("POST", f"/sessions/{session_id}/cancel", {})
    async with device.again() as back, user.reader(session_id) as reader:
        await back.cancel_of(prompt)
        await back.respond(prompt, stop_reason="cancelled")
        await user.say(session_id, "three")
        await back.prompt("three")
        assert back.said() == ["three"]
        ends = [one.json for one in reader.events if one.json["type"] == "execution_complete"]
        assert [one["turn_id"] for one in ends if one["cancelled"]] == [first, second]


async def test_a_cancel_ends_at_once_what_a_device_that_is_away_has_and_what_waits_for_it(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    turns = [await user.say(session_id, text) for text in ("one", "two")]
    await device.text(await device.prompt("one"), "heard")
    await device.round_trip()
    await device.drop()
    await _gone(user)
    turns.append(await user.say(session_id, "three"))
    await user.ok("POST", f"/sessions/{session_id}/cancel", {})
    ends = [one for one in await events_of(user, session_id) if one.get("cancelled")]
    assert [one["turn_id"] for one in ends] == turns


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


async def test_a_turn_whose_device_does_not_return_in_time_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_SWEEP_EVERY_S", 0.02)
    async with running(tmp_path / "data", machine_away_s=0.1) as control:
        user = await control.user()
        device = await new_device(user)
        session_id = await user.session()
        turns = [await user.say(session_id, text) for text in ("work", "more")]
        prompt = await device.prompt("work")
        async with user.reader(session_id) as reader:
            await device.drop()
            await reader.until(
                lambda one: sum("execution_error" in event.data for event in one.events) == 2
            )
            errors = [one.json for one in reader.events if one.json["type"] == "execution_error"]
            assert [one["turn_id"] for one in errors] == turns
            assert {one["code"] for one in errors} == {"MACHINE_OFFLINE"}
            async with device.again() as back:
                # It may still be at work on what has ended here: it is told, and not believed.
                await back.cancel_of(prompt)
                await back.respond(prompt, "late")
                await user.say(session_id, "welcome back")
                await back.respond(await back.prompt("welcome back"), "thanks")
                assert (await reader.until_type("execution_complete"))["content"] == "thanks"
                assert back.said() == ["welcome back"]


async def test_a_turn_for_a_device_that_never_comes_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_SWEEP_EVERY_S", 0.02)
    async with running(tmp_path / "data", machine_away_s=0.1) as control:
        user = await control.user()
        made = await register(user, agent_apps=["first"])
        session_id = await user.session(agent_config={"agent_app": "special"})
        turn_id = await user.say(session_id, "are you there?")
        async with user.reader(session_id) as reader:
            end = await reader.until_type("execution_error")
            assert (end["turn_id"], end["code"]) == (turn_id, "MACHINE_OFFLINE")
        async with device_of(user, made) as device:
            await user.say(session_id, "welcome")
            prompt = await device.prompt("welcome")
            assert device.said() == ["welcome"]
            assert prompt["payload"]["agent_app"] == "special"


async def test_a_restart_does_not_make_such_a_turn_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_SWEEP_EVERY_S", 0.02)
    async with running(tmp_path / "data") as control:
        user = await control.user()
        await register(user)
        session_id = await user.session()
        await user.say(session_id, "are you there?")
    async with running(tmp_path / "data", machine_away_s=0.1) as control:
        same = TestUser(control, user.id, user.token)
        async with same.reader(session_id) as reader:
            assert (await reader.until_type("execution_error"))["code"] == "MACHINE_OFFLINE"
