"""A real server on a real file system of a few MiB, which is filled up in the middle of a turn."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest_asyncio

from tests.support import fresh_data, small_disk
from tests.support.control import ADMIN, QUIET, Control, free_port
from tests.support.eventually import eventually
from tests.support.program import Program, plain_environment
from tests.support.small_disk import SmallDisk

FULL = "stands still: disk full"
PIECE = "x" * 2_000
PIECES_MAX = 4_000  # more than the whole disk holds
SERVER = "from trunkline.cli.main import main; main()"


class SmallControl(Program, Control):
    """`trunkline control` with its data on such a disk."""

    def __init__(self, data: Path) -> None:
        Program.__init__(self, data)
        port = free_port()
        Control.__init__(self, f"http://127.0.0.1:{port}")
        values = {"port": port, "data": data / "in", "admin_token": ADMIN, **QUIET}
        values["rate_limit_per_minute"] = 0
        self._env = {f"TRUNKLINE_{name.upper()}": str(value) for name, value in values.items()}
        self.disk: SmallDisk

    async def start(self) -> "SmallControl":
        self.home.mkdir()
        fresh = self.home.with_suffix(".fresh")
        fresh_data.copy_to(fresh)
        there = ("sh", "-c", 'cp -r "$0" "$1" && shift && exec "$@"', fresh, self.home / "in")
        server = (sys.executable, "-c", SERVER, "control")
        argv = small_disk.command(self.home, "6m", *map(str, there), *server)
        await self.run(*argv, env=plain_environment() | self._env)
        self.disk = SmallDisk(self.process.pid, self.home)
        await eventually(self._answers)
        return self

    async def _answers(self) -> bool:
        assert self.process.returncode is None, self.log[-2000:]
        try:
            return await self.ready() == '{"status":"ok"}'
        except aiohttp.ClientError:
            return False

    async def ready(self) -> str:
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/readyz") as answer:
            return await answer.text()


@pytest_asyncio.fixture
async def control(tmp_path: Path) -> AsyncIterator[SmallControl]:
    small_disk.needed()
    server = SmallControl(tmp_path / "data")
    await server.start()
    yield server
    await server.stop()


async def test_a_server_whose_disk_fills_up_goes_on_by_itself_when_there_is_room(
    control: SmallControl,
) -> None:
    user = await control.user()
    async with await user.vm("seq") as vm:
        session = await user.session()
        turn = await user.say(session, "go")
        await vm.expect("user_message")
        async with user.reader(session) as reader:
            control.disk.fill()
            sent = 0
            while FULL not in reader.comments and sent < PIECES_MAX:
                sent += 1
                await vm.event(session, sent, type="text_chunk", content=f"{sent} {PIECE}")
                await asyncio.sleep(0)
            await reader.until(lambda seen: FULL in seen.comments, "reason")
            assert "disk full" in await control.ready()
            for path, body in (
                ("/sessions", {}),
                (f"/sessions/{session}/messages", {"message": "?"}),
            ):
                status, answer = await user.call("POST", path, body)
                assert (status, answer["error"]["code"]) == (507, "DISK_FULL"), path
            control.disk.free()
            await reader.until(lambda seen: len(seen.texts()) == sent, "all of it")
            await vm.event(session, sent + 1, type="execution_complete", content="", turn_id=turn)
            await vm.expect("ack", lambda one: one["acked"].get(session) == sent + 1)
            assert [text.split()[0] for text in reader.texts()] == [
                str(number) for number in range(1, sent + 1)
            ]
            assert reader.ids == list(range(1, len(reader.ids) + 1))
            await eventually(lambda: control.ready(), lambda said: said == '{"status":"ok"}')
            await user.until_turns(session, "completed")
            await user.say(session, "and on")
