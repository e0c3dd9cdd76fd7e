"""A second machine in one paste: what is printed is run as it is, and the machine stays."""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support import user_manager, warm_start
from tests.support.control import ControlProcess, TestUser
from tests.support.eventually import eventually
from tests.support.program import Program, plain_environment
from tests.support.user_manager import UserManager
from tests.support.warm_start import WarmProcess

PROGRAM = str(Path(sys.executable).parent / "trunkline")

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlProcess]:
    async with ControlProcess(tmp_path_factory.mktemp("joined") / "data") as one:
        yield one


class Laptop(Program):
    """Another machine: a home of its own, and what is typed there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "laptop")
        self.home.mkdir(parents=True)

    async def type(self, line: str) -> None:
        env = plain_environment() | {"HOME": str(self.home)}
        await self.run(*shlex.split(line.replace("trunkline", PROGRAM, 1)), env=env)

    async def says(self, words: str) -> None:
        async def said() -> bool:
            return words in self.log

        await eventually(said)


class Desk:
    """Where the server is: its commands."""

    def __init__(self, user: TestUser, folder: Path) -> None:
        self.user = user
        self._folder = folder
        own = {"TRUNKLINE_URL": user.control.url, "TRUNKLINE_TOKEN": user.token}
        self._env = plain_environment() | own

    async def run(self, *command: str) -> str:
        done = await asyncio.to_thread(warm_start.run, command, self._env, self._folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def adds(self, *options: str) -> tuple[WarmProcess, Path, str]:
        """`machine add` at work, what it prints, and the line that is to be run."""
        out = self._folder / f"add-{len(options)}.out"
        process = await WarmProcess.start(["machine", "add", *options], self._env, out)

        async def line() -> str:
            text = out.read_text() if out.exists() else ""
            found = re.search(r"^ +(trunkline node --join .*)$", text, re.MULTILINE)
            return found[1] if found else ""

        return process, out, await eventually(line)

    async def machines(self) -> list[Any]:
        found: list[Any] = (await self.user.ok("GET", "/machines"))["items"]
        return found

    async def until_online(self, wanted: bool) -> None:
        async def is_so() -> bool:
            [machine] = await self.machines()
            return bool(machine["online"]) is wanted

        await eventually(is_so)


async def test_a_second_machine_joins_by_one_line_and_is_the_same_one_ever_after(
    control: ControlProcess, tmp_path: Path
) -> None:
    desk, laptop = Desk(await control.user("ada"), tmp_path), Laptop(tmp_path)
    adding, out, line = await desk.adds("--name", "lap top")
    await laptop.type(line)
    try:
        assert await adding.wait() == 0, laptop.log
        assert "lap top is connected; it can run semigraph" in out.read_text()
        [machine] = await desk.machines()
        await desk.run("chat", "--machine", "lap top", "list the files here")

        kept = laptop.home / "agents" / ".semibot" / "joined.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        await laptop.kill()
        await desk.until_online(False)
        joined = json.loads(kept.read_text())
        kept.write_text(json.dumps(joined | {"token": "ended"}))  # as if it had been off for days
        await laptop.type("trunkline node")
        await desk.until_online(True)
        assert "fetched a new token" in laptop.log
        renewed = json.loads(kept.read_text())
        assert renewed["token"] not in ("ended", joined["token"])

        await desk.run("machine", "revoke-token", "lap top", "--yes")
        await laptop.says("is not let in any more")
        await laptop.stop()
        code = json.loads(await desk.run("machine", "add", "--machine", "lap top", "--json"))
        await laptop.type(code["command"])
        await desk.until_online(True)
        assert [one["id"] for one in await desk.machines()] == [machine["id"]]
        seen = laptop.log + control.log
        secrets = [one[name] for one in (joined, renewed) for name in ("token", "secret")]
        assert not [one for one in secrets if one in seen]
    finally:
        await laptop.stop()


async def test_whoever_does_not_wait_leaves_a_code_that_is_still_good(
    control: ControlProcess, tmp_path: Path
) -> None:
    desk = Desk(await control.user("bo"), tmp_path)
    adding, out, line = await desk.adds()
    adding.send_signal(signal.SIGINT)
    assert await adding.wait() != 0
    assert "The code stays good" in out.read_text()
    body = {"code": shlex.split(line)[3], "name": "desk"}
    status, joined = await control.call("POST", "/join", body, token=None)
    assert (status, joined["user_id"]) == (201, desk.user.id)


async def test_a_service_of_systemd_outlives_a_kill_and_a_reboot_until_it_is_uninstalled(
    control: ControlProcess, tmp_path: Path
) -> None:
    """With systemd's own manager, and with names that it would take for something else."""
    user_manager.needed()
    desk, laptop = Desk(await control.user("cy"), tmp_path), Laptop(tmp_path / "it's 100% $HOME")
    home = str(laptop.home / 'the "agents" %h')
    adding, _, line = await desk.adds("--name", "kept")
    await laptop.type(f"{line} --home {shlex.quote(home)}")
    assert await adding.wait() == 0, laptop.log
    await laptop.stop()
    await desk.until_online(False)
    async with UserManager(laptop.home, tmp_path / "run") as manager:
        code, said = await manager.ask(PROGRAM, "node", "install", "--home", home)
        assert code == 0, said
        [unit] = (laptop.home / ".config" / "systemd" / "user").glob("*.service")
        assert await manager.ask("systemd-analyze", "verify", "--user", str(unit)) == (0, "")
        await desk.until_online(True)
        await desk.run("chat", "--machine", "kept", "list the files here")

        os.kill(await manager.process_of(unit.name), signal.SIGKILL)
        await desk.until_online(False)
        await desk.until_online(True)
        await manager.boot()
        await desk.until_online(True)

        code, said = await manager.ask(PROGRAM, "node", "uninstall", "--home", home)
        assert (code, unit.exists()) == (0, False), said
        assert await manager.process_of(unit.name) == 0
        await desk.until_online(False)
