"""Who asks for what is another's gets the answer for what does not exist, and is written down."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.control import ADMIN, Control, running
from tests.support.eventually import eventually
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def refusals(control: Control) -> list[dict[str, Any]]:
    entries = (await control.ok("GET", "/audit?limit=200", token=ADMIN))["items"]
    return [entry for entry in entries if entry["event"] == "access.refused"]


async def test_a_flood_of_made_up_ids_hides_nothing(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data", tuning=Tuning(refusals_max=3)) as control:
        await _flood(control)


async def _flood(control: Control) -> None:
    ann, bob, eve = [await control.user(name) for name in ("ann", "bob", "eve")]
    async with await ann.vm():
        session_id = await ann.session()
        for number in range(6):
            await eve.call("GET", f"/sessions/00000000-0000-7000-8000-00000000000{number}")
        await eve.call("GET", f"/sessions/{session_id}")
        await bob.call("GET", f"/sessions/{session_id}")
    found = await eventually(lambda: refusals(control), lambda entries: len(entries) == 2)
    assert {(entry["user_id"], entry["details"]["kind"]) for entry in found} == {
        (eve.id, "many"),
        (bob.id, "session"),
    }


async def test_a_guid_does_not_stand_for_another_persons_machine(control: Control) -> None:
    ann, eve = await control.user("ann"), await control.user("eve")
    async with await ann.vm():
        (machine,) = (await ann.ok("GET", "/machines"))["items"]
        await eve.ok("POST", f"/users/{eve.id}/devices", {"guid": machine["id"]})
        made = await ann.ok("POST", "/sessions", {"machine_id": machine["id"]})
        assert made["machine_id"] == machine["id"]
        status, _ = await eve.call("POST", "/sessions", {"machine_id": machine["id"]})
        assert status == 404


async def test_a_session_that_many_close_at_once_is_closed_once(control: Control) -> None:
    ann = await control.user("ann")
    async with await ann.vm():
        session_id = await ann.session()
        await asyncio.gather(*(ann.call("DELETE", f"/sessions/{session_id}") for _ in range(4)))
        page = await ann.ok("GET", f"/sessions/{session_id}/events")
        kinds = [entry["event"]["type"] for entry in page["items"]]
        assert kinds.count("session_closed") == 1


async def test_an_execution_plane_is_chosen_before_other_machines(control: Control) -> None:
    ann = await control.user("ann")
    async with await ann.vm():
        (vm,) = (await ann.ok("GET", "/machines"))["items"]
        made = await ann.ok("POST", f"/users/{ann.id}/devices", {})
        url = control.url.replace("http", "ws", 1) + f"/ws/agp?token={made['token']}"
        async with aiohttp.ClientSession() as http, http.ws_connect(url):
            await eventually(
                lambda: ann.ok("GET", "/machines"),
                lambda page: all(one["online"] for one in page["items"]),
            )
            assert (await ann.ok("POST", "/sessions", {}))["machine_id"] == vm["id"]
