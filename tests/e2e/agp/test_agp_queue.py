"""One prompt at a time per session, cancels, and messages that come twice."""

from typing import Any

import pytest

from tests.support.agp import ScriptedDevice, events_of
from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.sse import SseReader
from trunkline import limits

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


async def test_more_than_may_wait_is_an_error_of_that_turn_alone(
    user: TestUser, device: ScriptedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = await user.session()
    await user.say(session_id, "first")
    first = await device.prompt("first")
    for number in range(limits.SESSION_PROMPTS_MAX):
        await user.say(session_id, f"m{number}")
    turn_id = await user.say(session_id, "one too many")
    async with user.reader(session_id) as reader:
        (end,) = await _ends(reader, 1)
        assert (end["turn_id"], end["code"]) == (turn_id, "SESSION_BUSY")
        await device.respond(first, "done")
        await device.prompt("m0")


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


async def test_a_cancel_takes_back_what_waits_too(user: TestUser, device: ScriptedDevice) -> None:
    session_id = await user.session()
    first, second = await user.say(session_id, "one"), await user.say(session_id, "two")
    prompt = await device.prompt("one")
    await user.ok("POST", f"/sessions/{session_id}/cancel", {})
    await device.cancel_of(prompt)
    await device.respond(prompt, stop_reason="cancelled")
    async with user.reader(session_id) as reader:
        ends = await _ends(reader, 2)
    assert {end["turn_id"] for end in ends} == {first, second}
    assert all(end["cancelled"] for end in ends)
    await user.say(session_id, "three")
    await device.prompt("three")
    assert device.said() == ["one", "three"]


@pytest.mark.proves("003-5-one-answer-for-a-prompt")
@pytest.mark.proves("notes-4-two-answers-to-a-cancel")
async def test_of_two_answers_to_a_cancelled_prompt_the_first_counts(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    await user.say(session_id, "work")
    prompt = await device.prompt("work")
    await user.ok("POST", f"/sessions/{session_id}/cancel", {})
    await device.cancel_of(prompt)
    await device.respond(prompt, stop_reason="cancelled")
    await device.respond(prompt, "finished after all")
    await device.text(prompt, "and more")
    await user.say(session_id, "next")
    await device.respond(await device.prompt("next"), "new")
    async with user.reader(session_id) as reader:
        ends = await _ends(reader, 2)
        assert [end["content"] for end in ends] == ["", "new"]
        assert reader.texts() == []


@pytest.mark.proves("003-3-msg-id-is-idempotent", "003-5-repeated-msg-id-is-dropped")
async def test_a_message_that_comes_again_with_its_id_is_taken_once(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    await user.say(session_id, "go")
    prompt = await device.prompt("go")
    asked = prompt["payload"]
    chunk = {
        "session_id": session_id,
        "prompt_id": asked["prompt_id"],
        "update_type": "message_chunk",
        "content": {"type": "text", "text": "once"},
    }
    msg_id = await device.send("session.update", chunk)
    await device.send("session.update", chunk, msg_id=msg_id)
    await device.send("session.update", chunk)  # the same words under a new id are new words
    end_id = await device.respond(prompt)
    await device.send(
        "session.promptResponse",
        {"session_id": session_id, "prompt_id": asked["prompt_id"], "stop_reason": "error"},
        msg_id=end_id,
    )
    await device.round_trip()
    async with user.reader(session_id) as reader:
        (end,) = await _ends(reader, 1)
        assert end["content"] == "onceonce"
        assert reader.texts() == ["once", "once"]


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
