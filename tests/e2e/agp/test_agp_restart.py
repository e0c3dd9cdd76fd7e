"""The control plane is killed: what a device was at goes on, once and in order."""

from typing import Any

import pytest
import pytest_asyncio

from tests.support.agp import device_of, register
from tests.support.control import ControlProcess, TestUser
from tests.support.eventually import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


Json = dict[str, Any]


@pytest_asyncio.fixture(loop_scope="module")
async def user(process: ControlProcess) -> TestUser:
    return await process.user()


async def _restart(process: ControlProcess) -> None:
    await process.kill()
    await process.start()


async def test_a_turn_goes_on_over_a_restart_and_what_waited_follows_it(
    process: ControlProcess, user: TestUser
) -> None:
    made = await register(user)
    async with device_of(user, made) as device:
        session_id = await user.session(agent_config={"agent_app": "hermes"})
        for text in ("work", "next"):
            await user.say(session_id, text)
        await user.say(await user.session(), "lost")
        prompt = await device.prompt("work")
        await device.prompt("lost")
        update = {"content": {"type": "text", "text": "half, "}}
        msg_id = await device.update(prompt, "message_chunk", **update)
        await device.tool(prompt, "t1", "in_progress", title="scan")
        async with user.reader(session_id) as reader:
            await reader.until_type("tool_call_start")
        await _restart(process)
        assert await device.closed() == 1006
    async with device_of(user, made) as back:
        await back.prompt("lost")  # of which nothing was heard; it comes behind the others
        assert back.said() == ["lost"]
        payload = {
            "session_id": session_id,
            "prompt_id": prompt["payload"]["prompt_id"],
            "update_type": "message_chunk",
            **update,
        }
        await back.send("session.update", payload, msg_id=msg_id)  # from before: it is known
        await back.text(prompt, "whole")
        await back.tool(prompt, "t1", "completed", update_type="tool_call_update")
        await back.respond(prompt)
        following = await back.prompt("next")
        assert following["payload"]["agent_app"] == "hermes"
        assert back.said() == ["lost", "next"]
        async with user.reader(session_id) as reader:
            end = await reader.until_type("execution_complete")
            assert end["content"] == "half, whole"
            assert reader.texts() == ["half, ", "whole"]
            tools = [one.json for one in reader.events if "tool_call_id" in one.data]
            assert [(one["type"], one["tool_name"]) for one in tools] == [
                ("tool_call_start", "scan"),
                ("tool_call_complete", "scan"),
            ]


async def test_an_answer_from_the_app_s_own_file_is_taken_after_a_restart_and_taken_once(
    process: ControlProcess, user: TestUser
) -> None:
    made = await register(user)
    async with device_of(user, made) as device:
        session_id = await user.session()
        await user.say(session_id, "work")
        prompt = await device.prompt("work")
        await _restart(process)
    async with device_of(user, made) as back:
        msg_id = await back.respond(prompt, "done meanwhile")
        async with user.reader(session_id) as reader:
            await reader.until_type("execution_complete")
        await _restart(process)
    async with device_of(user, made) as third:
        payload = {
            "session_id": session_id,
            "prompt_id": prompt["payload"]["prompt_id"],
            "stop_reason": "error",
        }
        await third.send("session.promptResponse", payload, msg_id=msg_id)
        await third.send("session.promptResponse", payload)
        await third.round_trip()
        async with user.reader(session_id) as reader:
            await reader.until_type("execution_complete")
            ends = [one.json for one in reader.events if '"execution_' in one.data]
            assert [one["content"] for one in ends] == ["done meanwhile"]


@pytest.mark.parametrize(("pieces", "is_whole"), [(400, True), (600, False)])
async def test_an_answer_without_content_shows_what_was_streamed_only_if_all_of_it_is_known(
    process: ControlProcess, user: TestUser, pieces: int, is_whole: bool
) -> None:
    streamed = [f"{number} " for number in range(pieces)]
    made = await register(user)
    async with device_of(user, made) as device:
        session_id = await user.session()
        async with user.reader(session_id) as reader:
            await user.say(session_id, "before")  # so that the log does not start with the turn
            await device.text(await device.prompt("before"), *["x"] * 300)
            await device.respond(await device.prompt("before"), "done")
            await reader.until_type("execution_complete")
            await user.say(session_id, "work")
            prompt = await device.prompt("work")
            await device.text(prompt, *streamed)
            await reader.until_text(streamed[-1])
        await _restart(process)
    async with device_of(user, made) as back:
        await back.text(prompt, "end")
        await back.respond(prompt)
        ends = await eventually(
            lambda: user.ok("GET", f"/sessions/{session_id}/events?after=300&limit=1000"),
            lambda page: page["items"][-1]["event"]["type"] == "execution_complete",
        )
        wanted = "".join([*streamed, "end"]) if is_whole else None
        assert ends["items"][-1]["event"].get("content") == wanted
