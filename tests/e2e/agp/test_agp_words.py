"""Every word of document 003 §5 and §6 as a device says it, and as readers of the log see it."""

import json
from typing import Any

import pytest

from tests.support.agp import ScriptedDevice, events_of
from tests.support.control import TestUser

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("no_fault_in_the_loop"),
]

Json = dict[str, Any]

KINDS = ["read", "edit", "delete", "execute", "search", "fetch", "think", "other"]


async def _asked(user: TestUser, device: ScriptedDevice) -> tuple[str, Json]:
    session_id = await user.session()
    await user.say(session_id, "go")
    return session_id, await device.prompt("go")


async def _said(user: TestUser, device: ScriptedDevice, prompt: Json) -> list[Json]:
    """What the device said of the turn, which ends with this."""
    session_id = prompt["payload"]["session_id"]
    await device.respond(prompt, "done")
    async with user.reader(session_id) as reader:
        await reader.until_type("execution_complete")
    return [one for one in await events_of(user, session_id) if "msg_id" in one][:-1]


@pytest.mark.proves("003-6-tool-kinds")
async def test_a_tool_of_every_kind_is_shown_as_one(user: TestUser, device: ScriptedDevice) -> None:
    _, prompt = await _asked(user, device)
    for kind in KINDS:
        await device.tool(prompt, f"tc-{kind}", "in_progress", kind=kind)
    starts = await _said(user, device, prompt)
    assert [one["type"] for one in starts] == ["tool_call_start"] * 8
    assert [(one["tool_call_id"], one["kind"]) for one in starts] == [
        (f"tc-{kind}", kind) for kind in KINDS
    ]


TEXT = {"type": "text", "text": "half"}
REPEATED: dict[str, tuple[Json, list[str], str]] = {
    "tool_call": (
        {"tool_call": {"tool_call_id": "tc", "title": "scan", "status": "in_progress"}},
        ["tool_call_start"],
        "tool_call_progress",
    ),
    "tool_call_update": (
        {"tool_call": {"tool_call_id": "tc", "status": "in_progress", "content": [TEXT]}},
        ["tool_call_start", "tool_call_progress"],
        "tool_call_progress",
    ),
    "message_chunk": (
        {"content": {**TEXT, "annotations": []}},  # more than the document has
        ["text_chunk"],
        "text_chunk",
    ),
}
"""An update, the events that it becomes, and what it becomes when it is said a second time."""


@pytest.mark.parametrize("kind", REPEATED)
@pytest.mark.proves("003-3-msg-id-is-idempotent")
async def test_an_update_of_any_type_that_comes_again_with_its_id_is_taken_once(
    user: TestUser, device: ScriptedDevice, kind: str
) -> None:
    fields, events, second = REPEATED[kind]
    _, prompt = await _asked(user, device)
    msg_id = await device.update(prompt, kind, **fields)
    payload = {**_named(prompt), "update_type": kind, **fields}
    for _ in range(2):
        await device.send("session.update", payload, msg_id=msg_id)
    other_id = await device.update(prompt, kind, **fields)
    said = [(one["msg_id"], one["type"]) for one in await _said(user, device, prompt)]
    assert said == [*((msg_id, one) for one in events), (other_id, second)]


def _named(prompt: Json) -> Json:
    """The session and the turn that a prompt is of."""
    return {name: prompt["payload"][name] for name in ("session_id", "prompt_id")}


@pytest.mark.proves("003-3-envelope-fields")
@pytest.mark.parametrize("missing", ["guid", "user_id"])
async def test_a_message_that_does_not_say_whose_it_is_is_not_taken(
    user: TestUser, device: ScriptedDevice, missing: str
) -> None:
    _, prompt = await _asked(user, device)
    envelope = {"msg_id": "m-1", "guid": device.guid, "user_id": device.user_id}
    del envelope[missing]
    update = {"update_type": "message_chunk", "content": TEXT}
    answer = {"stop_reason": "end_turn", "content": [TEXT]}
    for method, payload in (("session.update", update), ("session.promptResponse", answer)):
        message = {**envelope, "method": method, "payload": {**_named(prompt), **payload}}
        await device.send_text(json.dumps(message))
    assert await _said(user, device, prompt) == []
