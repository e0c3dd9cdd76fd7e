"""A device's turns: a prompt down, pieces and an answer up, all in the session's log."""

from typing import Any
from uuid import UUID

import pytest

from tests.support.agp import ScriptedDevice, events_of, new_device
from tests.support.control import TestUser
from tests.support.eventually import eventually

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

Json = dict[str, Any]


async def _asked(user: TestUser, device: ScriptedDevice, text: str = "go") -> tuple[str, Json]:
    """A session and the prompt of its first message."""
    session_id = await user.session()
    await user.say(session_id, text)
    return session_id, await device.prompt(text)


async def _ended(user: TestUser, session_id: str) -> Json:
    """The end of the session's one turn."""
    async with user.reader(session_id) as reader:
        await reader.until(
            lambda one: any(event.json["type"].startswith("execution_") for event in one.events)
        )
        ends = [one.json for one in reader.events if one.json["type"].startswith("execution_")]
    assert len(ends) == 1
    return dict(ends[0])


def _some(event: Json, *names: str) -> Json:
    return {name: event[name] for name in names if name in event}


@pytest.mark.proves(
    "003-4-prompt-fields",
    "003-4-prompt-content-is-a-list",
    "003-3-envelope-fields",
    "003-7-normal-flow",
    "003-5-message-chunk-is-a-piece-of-the-answer",
    "003-5-updates-any-number",
    "003-5-end-turn",
)
async def test_a_message_becomes_a_prompt_and_what_the_device_says_reaches_readers(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    async with user.reader(session_id) as reader:
        turn_id = await user.say(session_id, "what is the weather?")
        prompt = await device.prompt("what is the weather?")
        assert set(prompt) == {"msg_id", "guid", "user_id", "method", "payload"}
        assert UUID(prompt["msg_id"])
        assert (prompt["guid"], prompt["user_id"]) == (device.guid, user.id)
        assert prompt["payload"] == {
            "session_id": session_id,
            "prompt_id": turn_id,
            "agent_app": "openclaw",
            "content": [{"type": "text", "text": "what is the weather?"}],
        }
        await device.text(prompt, "sunny, ", "15 degrees")
        await device.respond(prompt, "sunny, 15 degrees.")
        end = await reader.until_type("execution_complete")
        assert _some(end, "content", "turn_id") == {
            "content": "sunny, 15 degrees.",
            "turn_id": turn_id,
        }
        assert reader.texts() == ["sunny, ", "15 degrees"]
    answered = {"role": "assistant", "content": "sunny, 15 degrees."}
    await eventually(
        lambda: user.ok("GET", f"/sessions/{session_id}/snapshot"),
        lambda snapshot: snapshot["messages"][-1] == answered,
    )


@pytest.mark.proves(
    "003-5-tool-call",
    "003-5-tool-call-update",
    "003-6-tool-call-fields",
    "003-6-tool-statuses",
    "003-6-location",
)
@pytest.mark.proves("notes-4-update-without-title")
async def test_a_tool_call_starts_goes_on_and_is_over(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id, prompt = await _asked(user, device)
    found = [{"type": "text", "text": "2.3 GB found"}]
    await device.tool(
        prompt, "tc-001", "pending", title="scan", kind="execute", locations=[{"path": "/tmp"}]
    )
    await device.tool(
        prompt, "tc-001", "in_progress", update_type="tool_call_update", content=found
    )
    await device.tool(prompt, "tc-001", "completed", update_type="tool_call_update", content=found)
    await device.tool(prompt, "tc-002", "failed", update_type="tool_call_update", title="remove")
    await device.respond(prompt, "done")
    await _ended(user, session_id)
    tools = [one for one in await events_of(user, session_id) if "tool_call_id" in one]
    names = ("type", "tool_call_id", "tool_name", "kind", "locations", "content", "result")
    assert [_some(one, *names, "is_error") for one in tools] == [
        {
            "type": "tool_call_start",
            "tool_call_id": "tc-001",
            "tool_name": "scan",
            "kind": "execute",
            "locations": [{"path": "/tmp"}],
        },
        {
            "type": "tool_call_progress",
            "tool_call_id": "tc-001",
            "tool_name": "scan",
            "content": "2.3 GB found",
        },
        {
            "type": "tool_call_complete",
            "tool_call_id": "tc-001",
            "tool_name": "scan",
            "result": "2.3 GB found",
            "is_error": False,
        },
        {"type": "tool_call_start", "tool_call_id": "tc-002", "tool_name": "remove"},
        {
            "type": "tool_call_complete",
            "tool_call_id": "tc-002",
            "tool_name": "remove",
            "result": "",
            "is_error": True,
        },
    ]


@pytest.mark.parametrize(
    ("reason", "fields", "wanted"),
    [
        ("end_turn", {}, {"type": "execution_complete", "content": "streamed"}),
        ("end_turn", {"content": []}, {"type": "execution_complete", "content": "streamed"}),
        (
            "cancelled",
            {},
            {"type": "execution_complete", "content": "streamed", "cancelled": True},
        ),
        (
            "refusal",
            {"error": "not that"},
            {"type": "execution_error", "error": "not that", "code": "REFUSED"},
        ),
        (
            "error",
            {"error": "timed out"},
            {"type": "execution_error", "error": "timed out", "code": "DEVICE_ERROR"},
        ),
        (
            "max_tokens",
            {},
            {
                "type": "execution_error",
                "error": "the device ended the turn with an unknown stop_reason: 'max_tokens'",
                "code": "DEVICE_ERROR",
            },
        ),
    ],
)
@pytest.mark.proves(
    "003-5-cancelled", "003-5-refusal", "003-5-error", "003-5-answer-without-content"
)
async def test_each_stop_reason_ends_the_turn_in_its_own_way(
    user: TestUser, device: ScriptedDevice, reason: str, fields: Json, wanted: Json
) -> None:
    session_id, prompt = await _asked(user, device)
    await device.text(prompt, "streamed")
    await device.respond(prompt, stop_reason=reason, **fields)
    end = await _ended(user, session_id)
    assert _some(end, "type", "content", "cancelled", "error", "code") == wanted


@pytest.mark.proves("notes-4-no-reply")
async def test_an_empty_answer_to_which_nothing_was_said_is_no_reply(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id, prompt = await _asked(user, device)
    await device.respond(prompt, content=[])
    assert (await _ended(user, session_id))["content"] == ""


@pytest.mark.proves("003-6-content-block")
async def test_a_block_that_is_not_text_is_left_out_where_it_can_be_seen(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id, prompt = await _asked(user, device)
    await device.update(prompt, "message_chunk", content={"type": "image", "data": "AAAA"})
    both = [{"type": "text", "text": "a picture:"}, {"type": "image", "data": "AAAA"}]
    await device.respond(prompt, content=both)
    assert (await _ended(user, session_id))["content"] == "a picture:\n[image]"
    texts = [one["content"] for one in await events_of(user, session_id) if "msg_id" in one]
    assert texts == ["[image]", "a picture:\n[image]"]


@pytest.mark.parametrize(
    ("session", "apps", "wanted"),
    [
        ({}, [], "openclaw"),
        ({}, ["claude", "openclaw"], "claude"),
        ({"runtime_type": "openclaw"}, ["claude"], "openclaw"),
        ({"openclaw_config": {"port": 1}}, ["claude"], "openclaw"),
        ({"agent_config": {"agent_app": "hermes"}}, ["claude"], "hermes"),
        ({"agent_config": {"agent_app": 7}}, ["claude"], "claude"),
        ({"agent_config": {"agent_app": "x" * 1000}}, ["claude"], "claude"),
        ({"agent_config": {"agent_app": "two\nlines"}}, ["claude"], "claude"),
    ],
)
@pytest.mark.proves("003-4-agent-app-routes")
async def test_the_session_s_agent_says_which_app_a_prompt_is_for(
    user: TestUser, session: Json, apps: list[str], wanted: str
) -> None:
    async with await new_device(user, agent_apps=apps) as device:
        session_id = await user.session(**session)
        await user.say(session_id, "hello")
        prompt = await device.prompt("hello")
        assert prompt["payload"]["agent_app"] == wanted
        await user.ok("POST", f"/sessions/{session_id}/cancel", {})
        assert (await device.cancel_of(prompt))["payload"]["agent_app"] == wanted


async def test_attachments_are_named_because_the_wire_carries_text_only(
    user: TestUser, device: ScriptedDevice
) -> None:
    session_id = await user.session()
    attached = [{"name": "a.png", "mime": "image/png", "base64": "AAAA"}, {"name": "b.txt"}, 7]
    await user.say(session_id, "look", metadata={"attachments": attached})
    prompt = await device.prompt("look")
    assert [block["text"] for block in prompt["payload"]["content"]] == [
        "look",
        "[attachment 'a.png', image/png: not sent, this device takes text only]",
        "[attachment 'b.txt': not sent, this device takes text only]",
    ]
