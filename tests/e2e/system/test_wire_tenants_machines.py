"""Every id that a machine can name, tried by the machine of somebody whose it is not: devices by
AGP, agents by Yeaft. Not taken, audited, and without a trace in the owner's sessions."""

import json
from urllib.parse import quote

import pytest

from tests.support.agp import new_device
from tests.support.control import Control, TestUser
from tests.support.matrix.json_socket import Json, JsonSocket
from tests.support.matrix.treasure import (
    NOWHERE,
    Treasure,
    audited,
    refused,
    same,
    untouched,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        (("session_id",), "session"),
        (("session_id", "prompt_id"), "session"),
        (("guid",), "device"),
        (("user_id",), "user"),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
@pytest.mark.parametrize("method", ["session.update", "session.promptResponse"])
async def test_a_device_speaks_for_nobody_else(
    control: Control,
    eve: TestUser,
    treasure: Treasure,
    method: str,
    named: tuple[str, ...],
    kind: str,
) -> None:
    ids = treasure.ids
    theirs = {
        "session_id": ids["phone session"],
        "prompt_id": ids["prompt"],
        "guid": ids["guid"],
        "user_id": ids["user"],
    }
    before = await treasure.ann.ok("GET", f"/sessions/{ids['phone session']}/events")
    guid = f"phone-of-{eve.id}"
    async with await new_device(eve, guid=guid) as device:
        session = await eve.session(machine_id=guid)
        await eve.say(session, "mine")
        prompt = (await device.prompt("mine"))["payload"]
        own = {"guid": guid, "user_id": eve.id}
        own |= {"session_id": session, "prompt_id": prompt["prompt_id"]}
        said = own | {name: theirs[name] for name in named}
        body: Json = {"update_type": "message_chunk", "content": {"type": "text", "text": "evil"}}
        if method == "session.promptResponse":
            body = {"stop_reason": "end_turn", "content": [body["content"]]}
        payload = {"session_id": said["session_id"], "prompt_id": said["prompt_id"], **body}
        await device.send(method, payload, guid=said["guid"], user_id=said["user_id"])
        await audited(control, eve, "agp", kind, theirs[named[0]])
        await device.round_trip()
        events = await eve.ok("GET", f"/sessions/{session}/events")
        assert "evil" not in json.dumps(events)
    assert await treasure.ann.ok("GET", f"/sessions/{ids['phone session']}/events") == before
    await untouched(treasure)


async def test_a_prompt_of_anothers_session_is_none_of_ones_own(
    control: Control, eve: TestUser, treasure: Treasure
) -> None:
    guid = f"phone-of-{eve.id}"
    async with await new_device(eve, guid=guid) as device:
        session = await eve.session(machine_id=guid)
        await eve.say(session, "mine")
        prompt = (await device.prompt("mine"))["payload"]
        stolen = {**prompt, "prompt_id": treasure.ids["prompt"]}
        await device.respond({"guid": guid, "user_id": eve.id, "payload": stolen}, "evil")
        await audited(control, eve, "agp", "turn", treasure.ids["prompt"])
        snapshot = await eve.ok("GET", f"/sessions/{session}/snapshot")
        assert [turn["state"] for turn in snapshot["turns"]] == ["sent"]
    await untouched(treasure)


async def test_a_guid_is_not_taken_with_ones_own_token(
    control: Control, eve: TestUser, treasure: Treasure
) -> None:
    made = await eve.ok("POST", f"/users/{eve.id}/devices", {})
    address = control.url.replace("http", "ws", 1)
    query = f"guid={treasure.ids['guid']}&user_id={eve.id}&token={quote(made['token'])}"
    socket = await JsonSocket(f"{address}/ws/agp?{query}").connect()
    assert await socket.closed() == 1008
    await socket.leave()
    await audited(control, eve, "agp", "device", treasure.ids["guid"])
    await untouched(treasure)


async def test_a_yeaft_agent_is_not_replaced_with_ones_own_secret(
    control: Control, eve: TestUser, treasure: Treasure
) -> None:
    made = await eve.ok("POST", f"/users/{eve.id}/yeaft-agents", {})
    address = control.url.replace("http", "ws", 1)
    socket = JsonSocket(f"{address}/ws/yeaft?type=agent&id={treasure.ids['machine']}&name=evil")
    await socket.connect()
    temp_id = (await socket.expect("auth_required"))["tempId"]
    await socket.send({"type": "auth", "tempId": temp_id, "secret": made["secret"]})
    assert await socket.closed() == 1008
    await socket.leave()
    machine = await treasure.ann.ok("GET", f"/machines/{treasure.ids['machine']}")
    assert machine["online"] is False


@pytest.mark.parametrize("kind", ["claude_output", "ask_user_question", "turn_completed", "new"])
async def test_a_yeaft_agent_speaks_for_nobody_else(
    control: Control, eve: TestUser, treasure: Treasure, kind: str
) -> None:
    made = await eve.ok("POST", f"/users/{eve.id}/yeaft-agents", {})
    address = control.url.replace("http", "ws", 1)
    socket = JsonSocket(f"{address}/ws/yeaft?type=agent&id={made['id']}&name=evil")
    await socket.connect()
    temp_id = (await socket.expect("auth_required"))["tempId"]
    await socket.send({"type": "auth", "tempId": temp_id, "secret": made["secret"]})
    await socket.expect("registered")
    block = {"type": "text", "text": "evil"}
    data = {"type": "assistant", "message": {"role": "assistant", "content": [block]}}
    said = {"type": kind, "requestId": "evil", "prompt": "evil", "data": data}
    name = treasure.ids["session"]
    answer = await refused(socket, {**said, "conversationId": name})
    same(answer, await refused(socket, {**said, "conversationId": NOWHERE}), name)
    await socket.leave()
    await audited(control, eve, "yeaft", "session", name)
    assert "evil" not in json.dumps(await treasure.ann.ok("GET", f"/sessions/{name}/events"))
    await untouched(treasure)
