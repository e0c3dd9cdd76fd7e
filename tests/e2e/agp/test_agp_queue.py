"""One prompt at a time per session, cancels, and messages that come twice."""

from typing import Any

import pytest

from tests.support.agp import ScriptedDevice, events_of
from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.sse import SseReader

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

Json = dict[str, Any]


async def _ends(reader: SseReader, count: int) -> list[Json]:
    """The first ends of turns, in the order of the log."""

    def found() -> list[Json]:
        return [one.json for one in reader.events if one.json["type"].startswith("execution_")]

    await reader.until(lambda _reader: len(found()) >= count, f"{count} ends")
    return found()


@pytest.mark.proves("notes-4-one-prompt-at-a-time")
async def test_a_session_has_one_prompt_at_a_time_and_the_rest_waits_its_turn(
    user: TestUser, device: ScriptedDevice
) -> None:
    one, other = await user.session(), await user.session()
    for text in ("first", "second", "third"):
        await user.say(one, text)
    await user.say(other, "elsewhere")
    await device.prompt("elsewhere")  # another session does not wait
    await device.round_trip()
    assert device.said() == ["first", "elsewhere"]
    await device.respond(await device.prompt("first"), "1")
    second = await device.prompt("second")
    await device.round_trip()
    assert device.said() == ["first", "elsewhere", "second"]
    await device.respond(second, stop_reason="error", error="broken")
    await device.respond(await device.prompt("third"), "3")
    async with user.reader(one) as reader:
        ends = await _ends(reader, 3)
    assert [end.get("content", end.get("error")) for end in ends] == ["1", "broken", "3"]


@pytest.mark.proves("003-4-cancel-fields", "003-7-cancel-flow")
async def test_a_cancel_reaches_the_device_and_its_answer_ends_the_turn(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    turn_id = await user.say(session_id, "work")
    prompt = await device.prompt("work")
    await device.text(prompt, "half of")
    async with user.reader(session_id) as reader:
        await reader.until_text("half of")
        await user.ok("POST", f"/sessions/{session_id}/cancel", {})
        cancel = await device.cancel_of(prompt)
        assert cancel["payload"] == {
            "session_id": session_id,
            "prompt_id": turn_id,
            "agent_app": "openclaw",
        }
        assert (cancel["guid"], cancel["user_id"]) == (device.guid, user.id)
        await device.respond(prompt, stop_reason="cancelled")
        (end,) = await _ends(reader, 1)
        assert (end["cancelled"], end["content"]) == (True, "half of")


async def test_every_event_of_a_device_carries_its_message_s_id_and_its_turn(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    turn_id = await user.say(session_id, "go")
    prompt = await device.prompt("go")
    ids = [
        await device.update(prompt, "message_chunk", content={"type": "text", "text": "x"}),
        await device.respond(prompt, "x"),
    ]
    said = await eventually(lambda: events_of(user, session_id), lambda found: len(found) == 3)
    assert [(one["msg_id"], one["turn_id"]) for one in said[1:]] == [(one, turn_id) for one in ids]
