"""What programs of other makes say that is not known here: left alone and counted, on each wire."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.agp import ScriptedDevice, register
from tests.support.control import LocalControl, running
from tests.support.deployed_daemon import DeployedDaemon
from tests.support.eventually import eventually
from tests.support.myagent import MyAgentClient
from tests.support.wire import Wire, get
from tests.support.yeaft_web import ScriptedWeb

pytestmark = pytest.mark.asyncio(loop_scope="function")


@pytest_asyncio.fixture
async def control(tmp_path: Path) -> AsyncIterator[LocalControl]:
    async with running(tmp_path / "data") as control:
        yield control


async def _counted(control: LocalControl, wire: str, kinds: set[str]) -> None:
    """Waits until these are all that is counted on the wire."""

    async def counted() -> set[str]:
        return {kind for at, kind in control.core.surprises.counts if at == wire}

    await eventually(counted, lambda seen: seen == kinds)


async def test_of_a_machines_first_words_and_of_its_events_but_not_of_pieces_of_text(
    control: LocalControl,
) -> None:
    user = await control.user()
    vm = await user.schedule()
    daemon = DeployedDaemon(user, vm["token"], vm["ticket"])
    await daemon.connect()
    await daemon.send({"type": "auth", "token": vm["token"], "hostname": "box"})
    await daemon.expect("init")
    await daemon.send({"type": "resume", "pending_ids": [], "since": 5})
    await daemon.expect("resume_response")
    session = await user.session()
    await daemon.expect("start_session")
    head = {"type": "sse_event", "session_id": session}
    async with user.reader(session) as reader:
        await daemon.send(
            {**head, "data": '{"type": "text_chunk", "content": "a", "x": 1}', "y": 1}
        )
        await daemon.send({**head, "data": '{"type": "thinking", "content": "b"}'})
        await daemon.send({**head, "data": '{"content": "c", "type": "dream"}', "priority": 1})
        await daemon.send({**head, "data": {"type": "vision", "content": "d"}})
        await reader.until_type("vision")
    await daemon.leave()
    events = {"event dream", "event vision"}
    fields = {"field hostname", "field since", "field priority"}
    await _counted(control, "semibot", events | fields)


async def test_of_an_apps_updates_and_of_its_tool_calls(control: LocalControl) -> None:
    user = await control.user()
    made = await register(user)
    async with ScriptedDevice(user.control.url, token=made["token"]) as device:
        session = await user.session()
        await user.say(session, "hello")
        prompt = await device.prompt("hello")
        await device.update(
            prompt, "message_chunk", content={"type": "text", "text": "a"}, of_a_piece=1
        )
        await device.update(
            prompt,
            "tool_call",
            tool_call={"tool_call_id": "c", "status": "done", "cost": 1},
            lane=2,
        )
        await device.update(prompt, "mood", colour="red")
        await _counted(
            control, "agp", {"field lane", "field cost", "update_type mood", "field colour"}
        )


async def test_of_addresses(control: LocalControl) -> None:
    user = await control.user()
    vm = await user.schedule()
    daemon = DeployedDaemon(user, vm["token"], vm["ticket"])
    daemon.url += "&region=eu"
    async with daemon:
        await _counted(control, "semibot", {"query field region"})
    async with MyAgentClient(f"{control.url}/ws/myagent?token={user.token}&lang=en"):
        await _counted(control, "myagent", {"query field lang"})
    async with ScriptedWeb(f"{control.url}/ws/yeaft?type=web&token={user.token}&theme=dark"):
        await _counted(control, "yeaft", {"query field theme"})


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/admin/dashboard", "route GET /api/admin/dashboard"),
        ("/health/ready?token=secret", "path GET /health/ready"),
        ("/ws/other?token=secret", "path GET /ws/other"),
    ],
)
async def test_of_routes_below_api_and_elsewhere(
    control: LocalControl, path: str, kind: str
) -> None:
    async with Wire(control) as wire:
        await wire.send(get(path, wire.host))
        assert (await wire.answer())[0] == 404
        await wire.send(get("/api/v1/nothing", wire.host))
        assert (await wire.answer())[0] == 404  # our own interface says so to whoever calls it
    await _counted(control, "http", {kind})


async def test_a_stranger_s_search_leaves_room_for_what_programs_ask(
    control: LocalControl,
) -> None:
    async with Wire(control) as wire:
        for number in range(60):
            await wire.send(get(f"/{number}.php", wire.host))
            assert (await wire.answer())[0] == 404
        await wire.send(get("/api/user/teams", wire.host))
        assert (await wire.answer())[0] == 404
    counts = control.core.surprises.counts
    assert (counts["http", "other"], counts["http", "route GET /api/user/teams"]) == (10, 1)
