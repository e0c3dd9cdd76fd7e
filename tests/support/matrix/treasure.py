"""What Ann has and Eve tries to reach, over every wire: her sessions, machines, questions, groups.

For tests of what a person may not do with another one's things.
"""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from uuid import uuid4

from tests.support.agp import ScriptedDevice, new_device
from tests.support.control import ADMIN, Control, TestUser
from tests.support.eventually import eventually
from tests.support.matrix.json_socket import JsonSocket
from tests.support.vm import ScriptedVm

Json = dict[str, Any]
NOWHERE = "01a1de65-0000-7000-8000-000000000000"
"""An id that nobody has."""


class Treasure(NamedTuple):
    """What Ann has, by the names that protocols have for it."""

    ann: TestUser
    vm: ScriptedVm
    device: ScriptedDevice
    ids: dict[str, str]


@contextlib.asynccontextmanager
async def hoard(control: Control) -> AsyncIterator[Treasure]:
    """A session that asks, a phone at a prompt, a group, an agent of her own."""
    ann = await control.user("ann")
    guid = f"phone-of-{ann.id}"
    vm = await ann.vm()
    session = await ann.session()
    turn = await ann.say(session, "private")
    await vm.expect("user_message")
    asked = str(uuid4())
    await vm.event(
        session, type="approval_request", message="May I?", request_id=asked, turn_id=turn
    )
    device = await new_device(ann, guid=guid)
    on_phone = await ann.session(machine_id=device.guid)
    await ann.say(on_phone, "call home")
    prompt = await device.prompt("call home")
    person = await ann.ok("POST", "/persons", {"name": "alice"})
    group = await ann.ok("POST", "/groups", {"name": "team", "person_ids": [person["id"]]})
    yeaft = await ann.ok("POST", f"/users/{ann.id}/yeaft-agents", {"name": "laptop"})
    agent = await ann.ok("POST", "/agents", {"name": "diary"})
    (approval,) = (await ann.ok("GET", "/approvals"))["items"]
    ids = {
        "session": session,
        "request": asked,
        "approval": approval["id"],
        "machine": yeaft["id"],
        "guid": guid,
        "phone session": on_phone,
        "prompt": prompt["payload"]["prompt_id"],
        "group": group["id"],
        "person": person["id"],
        "agent": agent["id"],
        "user": ann.id,
    }
    yield Treasure(ann, vm, device, ids)
    await vm.leave()
    await device.leave()


async def refusals(control: Control, eve: TestUser) -> list[Json]:
    """What the audit log says that Eve was refused."""
    entries = (await control.ok("GET", "/audit?limit=200", token=ADMIN))["items"]
    return [
        entry["details"]
        for entry in entries
        if entry["event"] == "access.refused" and entry["user_id"] == eve.id
    ]


async def audited(control: Control, eve: TestUser, wire: str, kind: str, name: str) -> None:
    """This attempt and nothing else is written down: what exists nowhere leaves no trace."""
    wanted = {"wire": wire, "kind": kind, "id": name}
    found = await eventually(lambda: refusals(control, eve))
    assert all(entry == wanted for entry in found), found


def same(answer: Json, other: Json, name: str) -> None:
    """Two refusals that differ in nothing but the id that was asked for."""
    one, two = json.dumps(answer, sort_keys=True), json.dumps(other, sort_keys=True)
    assert one.replace(name, "ID") == two.replace(NOWHERE, "ID")


async def untouched(treasure: Treasure) -> None:
    """Nothing reached Ann's machines, and her question still waits."""
    await treasure.device.round_trip()
    assert len(treasure.device.of("session.prompt")) == 1
    assert treasure.device.of("session.cancel") == []
    told = [one["type"] for one in treasure.vm.received]
    assert told == ["init", "start_session", "user_message"]
    assert len((await treasure.ann.ok("GET", "/approvals"))["items"]) == 1
    for name in ("session", "phone session"):
        session = await treasure.ann.ok("GET", f"/sessions/{treasure.ids[name]}")
        assert session["status"] == "active"


async def refused(socket: JsonSocket, message: Json) -> Json:
    """The error that a message is answered with, without what differs by connection and time."""
    seen = len(socket.received)
    await socket.send(message)
    names = ("error", "system.error", "agent.error")
    answer = await socket.first(
        lambda one: (one.get("event") or one.get("type")) in names, "error", seen
    )
    dropped = ("timestamp", "seq", "event_id")
    return {name: value for name, value in answer.items() if name not in dropped}
