"""Local VMs under the whole control plane: a real server, real processes, the real wire."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import scripted_daemon
from tests.support.control import ADMIN, ControlProcess, running
from trunkline.client import Client

BOUND_S = 60
DAEMON = f"{sys.executable} {scripted_daemon.__file__}"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with (
        running(tmp_path / "data", vm_command=DAEMON) as control,
        Client(control.url, ADMIN) as client,
    ):
        yield client


async def until(client: Client, machine_id: str, **wanted: Any) -> dict[str, Any]:
    """The machine's record, as soon as it is as wanted."""
    async with asyncio.timeout(BOUND_S):
        while True:
            machine = await client.get("machines", machine_id)
            if all(machine[name] == value for name, value in wanted.items()):
                return machine
            await asyncio.sleep(0.02)


async def start(client: Client, **options: Any) -> str:
    user_id = (await client.me())["user"]["id"]
    scheduled = await client.post("users", user_id, "vm", body={"provider": "local", **options})
    return str(scheduled["vm_id"])


async def say(client: Client, session_id: str, text: str) -> list[str]:
    """The types of the turn's events, without those that say how the machine is."""
    position = (await client.sessions.get(session_id)).last_event_id
    await client.sessions.send(session_id, text)
    found: list[str] = []
    async with asyncio.timeout(BOUND_S):
        stream = aiter(client.sessions.stream(session_id, position))
        async for event in stream:
            if event.type != "session_status":
                found.append(event.type)
            if event.ends_turn:
                break
        await stream.aclose()
    return found


async def test_a_local_vm_connects_and_answers(client: Client) -> None:
    vm_id = await start(client)
    await until(client, vm_id, online=True, state="online")
    session = await client.sessions.create(machine_id=vm_id)
    assert await say(client, session.id, "hello") == [
        "user_message",
        "text_chunk",
        "execution_complete",
    ]


async def test_a_vm_that_dies_comes_back_and_serves_its_sessions(client: Client) -> None:
    vm_id = await start(client)
    first = await until(client, vm_id, state="online")
    session = await client.sessions.create(machine_id=vm_id)
    await client.sessions.send(session.id, "crash")
    async with asyncio.timeout(BOUND_S):
        while (await client.get("machines", vm_id))["last_seen_at"] == first["last_seen_at"]:
            await asyncio.sleep(0.02)
    await until(client, vm_id, online=True)
    other = await client.sessions.create(machine_id=vm_id)
    assert (await say(client, other.id, "again"))[-1] == "execution_complete"


async def test_whoever_waits_for_a_vm_that_fails_is_told(tmp_path: Path) -> None:
    async with (
        running(
            tmp_path / "data", vm_command=f"{DAEMON} --never-connect", vm_connect_timeout_s=2.0
        ) as control,
        Client(control.url, ADMIN) as client,
    ):
        vm_id = await start(client)
        session = await client.sessions.create(machine_id=vm_id)
        assert (await say(client, session.id, "anyone?"))[-1] == "execution_error"


async def test_local_vms_end_with_a_killed_control_plane_and_return_with_the_next(
    tmp_path: Path,
) -> None:
    process = await ControlProcess(tmp_path / "data", vm_command=DAEMON).start()
    async with Client(process.url, ADMIN) as client:
        vm_id = await start(client)
        await until(client, vm_id, online=True)
        (pid,) = daemons(tmp_path)
        await process.kill()
        async with asyncio.timeout(BOUND_S):
            while pid in daemons(tmp_path):
                await asyncio.sleep(0.02)
        await process.start()
        await until(client, vm_id, online=True)
        (again,) = daemons(tmp_path)
        assert again != pid
        assert await process.terminate() == 0
        assert daemons(tmp_path) == set()


def daemons(tmp_path: Path) -> set[int]:
    """The running processes whose working folder is below this test's."""
    found = set()
    for process in Path("/proc").iterdir():
        try:
            folder = (process / "cwd").readlink() if process.name.isdigit() else Path("/")
        except OSError:
            continue
        if folder.is_relative_to(tmp_path):
            found.add(int(process.name))
    return found
