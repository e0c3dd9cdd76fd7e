"""Who asks for what is another's gets the answer for what does not exist, and is written down."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.control import ADMIN, Control, running
from tests.support.eventually import eventually


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[Control]:
    async with running(tmp_path / "data") as started:
        yield started


async def refusals(control: Control) -> list[dict[str, Any]]:
    entries = (await control.ok("GET", "/audit?limit=200", token=ADMIN))["items"]
    return [entry for entry in entries if entry["event"] == "access.refused"]


async def test_a_look_at_another_persons_session_is_audited(control: Control) -> None:
    ann, bob = await control.user("ann"), await control.user("bob")
    async with await ann.vm():
        session_id = await ann.session()
        status, _ = await bob.call("POST", f"/sessions/{session_id}/messages", {"message": "hi"})
        assert status == 404
    (entry,) = await eventually(lambda: refusals(control))
    assert entry["user_id"] == bob.id
    assert entry["details"] == {"wire": "rest", "kind": "session", "id": session_id}


async def test_another_persons_device_cannot_be_used_by_its_guid(control: Control) -> None:
    ann, bob = await control.user("ann"), await control.user("bob")
    device = await ann.ok("POST", f"/users/{ann.id}/devices", {"guid": "phone-1"})
    for name in (device["guid"], device["machine_id"]):
        status, answer = await bob.call("POST", "/sessions", {"machine_id": name})
        assert (status, answer["error"]["code"]) == (404, "MACHINE_NOT_FOUND")
    taken, answer = await bob.call("POST", f"/users/{bob.id}/devices", {"guid": "phone-1"})
    assert (taken, answer["error"]["code"]) == (409, "GUID_TAKEN")
    found = await eventually(lambda: refusals(control), lambda entries: len(entries) == 2)
    assert {entry["details"]["id"] for entry in found} == {device["guid"], device["machine_id"]}


async def test_an_id_that_nobody_has_leaves_no_trace(control: Control) -> None:
    ann, bob = await control.user("ann"), await control.user("bob")
    async with await ann.vm():
        session_id = await ann.session()
        status, _ = await bob.call("GET", "/sessions/00000000-0000-7000-8000-000000000000")
        assert status == 404
        await bob.call("GET", f"/sessions/{session_id}")
    # The later refusal is there, so the earlier one would be.
    (entry,) = await eventually(lambda: refusals(control))
    assert entry["details"]["id"] == session_id
