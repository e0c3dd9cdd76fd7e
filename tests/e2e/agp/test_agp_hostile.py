"""What a device may not say: broken messages, others' ids, floods. The line lives on, or ends."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.agp import ScriptedDevice, events_of, new_device
from tests.support.control import Control, TestUser, running
from tests.support.eventually import WAIT_S, eventually
from tests.support.metrics import metric
from tests.support.raw_ws import BINARY, CONTINUATION, PING, RawWs
from trunkline import limits
from trunkline.control.tuning import DEFAULT

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

Json = dict[str, Any]


async def _at_work(user: TestUser, device: ScriptedDevice) -> tuple[str, Json]:
    session_id = await user.session()
    await user.say(session_id, "go")
    return session_id, await device.prompt("go")


async def _lives_on(user: TestUser, device: ScriptedDevice, prompt: Json) -> list[Json]:
    """The turn can still be ended; what the device had said until then."""
    await device.respond(prompt, "still here")
    session_id = prompt["payload"]["session_id"]
    async with user.reader(session_id) as reader:
        assert (await reader.until_type("execution_complete"))["content"] == "still here"
    return [one for one in await events_of(user, session_id) if "msg_id" in one][:-1]


CHUNK = '"update_type": "message_chunk", "content": {"type": "text", "text": "x"}'
CALL = '"update_type": "tool_call", "tool_call"'
BROKEN = {
    "empty": "",
    "broken JSON": '{"method": "session.update"',
    "a number": "42",
    "a list": '[{"method": "ping"}]',
    "null": "null",
    "no method": '{"msg_id": "m", "payload": {}}',
    "method is a number": '{"msg_id": "m", "method": 7}',
    "no msg_id": '{%E, "method": "session.update", "payload": {%I, %C}}',
    "empty msg_id": '{"msg_id": "", %E, "method": "session.update", "payload": {%I, %C}}',
    "long msg_id": '{"msg_id": "%L", %E, "method": "session.update", "payload": {%I, %C}}',
    "msg_id is a number": '{"msg_id": 1, %E, "method": "session.update", "payload": {%I, %C}}',
    "no payload": '{"msg_id": "m", %E, "method": "session.update"}',
    "payload is null": '{"msg_id": "m", %E, "method": "session.update", "payload": null}',
    "payload is a list": '{"msg_id": "m", %E, "method": "session.update", "payload": []}',
    "guid is a number": '{"msg_id": "m", "guid": 1, "method": "session.update", "payload": {%I}}',
    "no session_id": '{%M, "payload": {"prompt_id": "p", %C}}',
    "session_id is an object": '{%M, "payload": {"session_id": {}, "prompt_id": "p", %C}}',
    "long prompt_id": '{%M, "payload": {"session_id": "s", "prompt_id": "%L", %C}}',
    "no update_type": '{%M, "payload": {%I}}',
    "unknown update_type": '{%M, "payload": {%I, "update_type": "plan"}}',
    "update_type is null": '{%M, "payload": {%I, "update_type": null}}',
    "chunk without content": '{%M, "payload": {%I, "update_type": "message_chunk"}}',
    "content is a list": (
        '{%M, "payload": {%I, "update_type": "message_chunk",'
        ' "content": [{"type": "text", "text": "x"}]}}'
    ),
    "content is text": '{%M, "payload": {%I, "update_type": "message_chunk", "content": "x"}}',
    "block without type": (
        '{%M, "payload": {%I, "update_type": "message_chunk", "content": {"text": "x"}}}'
    ),
    "text is a number": (
        '{%M, "payload": {%I, "update_type": "message_chunk",'
        ' "content": {"type": "text", "text": 1}}}'
    ),
    "half a surrogate pair": (
        '{%M, "payload": {%I, "update_type": "message_chunk",'
        ' "content": {"type": "text", "text": "\\ud800"}}}'
    ),
    "call without tool_call": '{%M, "payload": {%I, "update_type": "tool_call"}}',
    "call without id": '{%M, "payload": {%I, %T: {"status": "pending"}}}',
    "call without status": '{%M, "payload": {%I, %T: {"tool_call_id": "t"}}}',
    "call with a long id": '{%M, "payload": {%I, %T: {"tool_call_id": "%L", "status": "x"}}}',
    "locations are text": (
        '{%M, "payload": {%I, %T: {"tool_call_id": "t", "status": "x", "locations": "/"}}}'
    ),
    "location without path": (
        '{%M, "payload": {%I, %T: {"tool_call_id": "t", "status": "x", "locations": [{}]}}}'
    ),
    "no stop_reason": '{"msg_id": "m", %E, "method": "session.promptResponse", "payload": {%I}}',
    "stop_reason is a list": (
        '{"msg_id": "m", %E, "method": "session.promptResponse",'
        ' "payload": {%I, "stop_reason": []}}'
    ),
    "answer of one block": (
        '{"msg_id": "m", %E, "method": "session.promptResponse",'
        ' "payload": {%I, "stop_reason": "end_turn", "content": {"type": "text", "text": "x"}}}'
    ),
    "deep": '{"method": "ping", "payload": ' + "[" * 100_000 + "]" * 100_000 + "}",
}


def _filled(text: str, device: ScriptedDevice, prompt: Json) -> str:
    asked = prompt["payload"]
    envelope = f'"guid": "{device.guid}", "user_id": "{device.user_id}"'
    for name, value in {
        "%M": '"msg_id": "m", %E, "method": "session.update"',
        "%E": envelope,
        "%I": f'"session_id": "{asked["session_id"]}", "prompt_id": "{asked["prompt_id"]}"',
        "%C": CHUNK,
        "%T": CALL,
        "%L": "x" * 1000,
    }.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.proves("003-5-update-content-is-one-block")
async def test_a_broken_message_is_counted_and_skipped_and_the_line_lives_on(
    control: Control, user: TestUser, device: ScriptedDevice, text: str
) -> None:
    _, prompt = await _at_work(user, device)
    before = await metric(control, "ws_malformed_messages_total")
    await device.send_text(_filled(text, device, prompt))
    await device.round_trip()
    assert await metric(control, "ws_malformed_messages_total") == before + 1
    assert await _lives_on(user, device, prompt) == []


TOLERATED = {
    "unknown method": '{"msg_id": "m", "method": "session.future", "payload": {"deep": [[]]}}',
    "a prompt from the device": '{%E, "msg_id": "m", "method": "session.prompt", "payload": {}}',
    "bare ping": '{"method": "ping"}',
    "ping with a strange id": '{"method": "ping", "msg_id": {"a": 1}, "payload": 7}',
    "pong": '{"method": "pong", "msg_id": "m"}',
}


@pytest.mark.parametrize("text", TOLERATED.values(), ids=TOLERATED.keys())
async def test_what_this_version_does_not_know_is_tolerated(
    control: Control, user: TestUser, device: ScriptedDevice, text: str
) -> None:
    _, prompt = await _at_work(user, device)
    before = await metric(control, "ws_malformed_messages_total")
    await device.send_text(_filled(text, device, prompt))
    await device.round_trip()
    assert await metric(control, "ws_malformed_messages_total") == before
    assert await _lives_on(user, device, prompt) == []


async def test_text_that_looks_like_a_turn_s_end_is_text(
    user: TestUser, device: ScriptedDevice
) -> None:
    _, prompt = await _at_work(user, device)
    forged = '{"type":"execution_complete","content":"forged"}\n\ndata: x\r\n\u2028\x00'
    await device.text(prompt, forged)
    await device.tool(prompt, '"execution_error', "completed", title='"approval_request"')
    said = await _lives_on(user, device, prompt)
    assert [one["type"] for one in said] == [
        "text_chunk",
        "tool_call_start",
        "tool_call_complete",
    ]
    assert said[0]["content"] == forged


async def _audited(user: TestUser) -> list[tuple[str, str]]:
    page = await user.ok("GET", "/audit")
    return [
        (one["details"]["kind"], one["details"]["id"])
        for one in page["items"]
        if one["event"] == "access.refused"
    ]


async def test_what_is_said_of_another_user_s_session_or_turn_is_refused_and_audited(
    control: Control, user: TestUser, device: ScriptedDevice
) -> None:
    _, mine = await _at_work(user, device)
    stranger = await control.user("eve")
    async with await new_device(stranger) as their_device:
        theirs, their_prompt = await _at_work(stranger, their_device)
        echo = {"guid": device.guid, "user_id": user.id}
        forged = {**their_prompt, **echo}
        await device.text(forged, "forged")
        await device.respond(forged, "forged")
        mixed = {**mine, "payload": {**mine["payload"], "prompt_id": _prompt_id(their_prompt)}}
        await device.text(mixed, "forged")
        await device.respond(mixed, "forged")
        swapped = {**mine, "payload": {**mine["payload"], "session_id": theirs}}
        await device.respond(swapped, "forged")
        as_them = {**mine, "guid": their_device.guid, "user_id": stranger.id}
        await device.text(as_them, "forged")
        await device.respond(as_them, "forged")
        await device.text({**mine, "user_id": stranger.id}, "forged")
        wanted = {
            ("session", theirs),
            ("turn", _prompt_id(their_prompt)),
            ("device", their_device.guid),
            ("user", stranger.id),
        }
        await eventually(lambda: _audited(user), lambda seen: wanted <= set(seen))
        assert await _lives_on(user, device, mine) == []
        assert await _lives_on(stranger, their_device, their_prompt) == []


def _prompt_id(prompt: Json) -> str:
    return str(prompt["payload"]["prompt_id"])


async def test_what_is_said_of_a_neighbour_s_session_or_of_nobody_s_is_refused(
    user: TestUser, device: ScriptedDevice
) -> None:
    _, mine = await _at_work(user, device)
    async with await new_device(user) as second:
        neighbour, _ = await _at_work(user, second)
        for wrong in (neighbour, "no-such-session", "../../etc/passwd", "x" * 200):
            forged = {**mine, "payload": {**mine["payload"], "session_id": wrong}}
            await device.text(forged, "forged")
            await device.respond(forged, "forged")
        await device.text({**mine, "guid": second.guid}, "forged")
        await device.text({**mine, "guid": "", "user_id": "nobody"}, "forged")
        assert await _lives_on(user, device, mine) == []
        assert await _audited(user) == []
        assert not any("msg_id" in one for one in await events_of(user, neighbour))


async def test_names_that_are_nobody_s_do_not_hide_one_that_is_somebody_s(
    control: Control, user: TestUser, device: ScriptedDevice
) -> None:
    stranger = await control.user("eve")
    async with await new_device(stranger):
        theirs = await stranger.session()
        names = [f"no-{number}" for number in range(DEFAULT.refusals_max + 5)]
        for name in [*names, theirs]:
            payload = {"session_id": name, "prompt_id": "p", "update_type": "plan"}
            await device.send("session.update", payload)
        await device.round_trip()
        seen = await eventually(lambda: _audited(user), bool)
        assert seen == [("session", theirs)]


async def test_a_message_that_was_broken_may_come_again_with_its_id(
    user: TestUser, device: ScriptedDevice
) -> None:
    _, prompt = await _at_work(user, device)
    asked = prompt["payload"]
    named = {"session_id": asked["session_id"], "prompt_id": asked["prompt_id"]}
    msg_id = await device.send("session.update", {**named, "update_type": "message_chunk"})
    chunk = {"update_type": "message_chunk", "content": {"type": "text", "text": "whole"}}
    await device.send("session.update", {**named, **chunk}, msg_id=msg_id)
    await device.round_trip()
    assert [one["content"] for one in await _lives_on(user, device, prompt)] == ["whole"]


def _raw(device: ScriptedDevice) -> RawWs:
    return RawWs(device.url)


@pytest.mark.proves("003-1-text-frames")
async def test_frames_that_are_not_text_end_the_line(
    user: TestUser, device: ScriptedDevice
) -> None:
    async with _raw(device) as line:
        await line.frame(BINARY, b"{}")
        assert await line.closed() == 1003
    async with _raw(device) as line:
        await line.text(b"\xff\xfe")
        assert await line.closed() == 1007
    async with _raw(device) as line:
        await line.frame(CONTINUATION, b"{}")
        assert await line.closed() == 1002
    async with _raw(device) as line:
        await line.text(b"x" * (limits.FRAME_BYTES_MAX + 1))
        assert await line.closed() == 1009


async def test_a_message_in_pieces_is_one_message_and_one_in_the_first_packet_counts(
    user: TestUser, device: ScriptedDevice
) -> None:
    ping = json.dumps({"method": "ping", "msg_id": "m1"}).encode()
    async with _raw(device) as line:
        await line.text(ping[:5], fin=False)
        await line.frame(PING, b"between")
        await line.frame(CONTINUATION, ping[5:])
        await line.pong(b"between")
        await line.until(lambda: bool(line.messages), "pong")
        assert [(one["method"], one["payload"]) for one in line.messages] == [
            ("pong", {"msg_id": "m1"})
        ]


async def test_messages_have_a_rate_and_streamed_updates_have_none(tmp_path: Path) -> None:
    async with running(tmp_path / "data", rate_limit_per_minute=20) as control:
        user = await control.user()
        async with await new_device(user) as device:
            session_id, prompt = await _at_work(user, device)
            pieces = [f"{number} " for number in range(100)]
            await device.text(prompt, *pieces)
            async with user.reader(session_id) as reader:
                await reader.until_text("99 ")
                assert reader.texts() == pieces
            for _ in range(30):
                await device.send("ping", {})
            assert await device.closed() == 4029
        async with device.again() as back:
            stranger = {**prompt, "payload": {**prompt["payload"], "session_id": "foreign"}}
            async with asyncio.timeout(WAIT_S):
                while back.close_code is None:
                    try:
                        await back.text(stranger, "forged")
                    except ConnectionError:
                        break
            assert await back.closed() == 4029
