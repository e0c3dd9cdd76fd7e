"""Found open: whoever could reach the port could hold connections that only wait until no machine
got in, and HTTP connections stayed open for an hour.

Connections are counted, in all and by address. Where there is no room, the oldest that has shown
no secret makes it.
"""

import asyncio
import contextlib
import resource
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support import fresh_data
from tests.support.admission import again_url
from tests.support.control import ADMIN, Control, TestUser, free_port, running
from tests.support.eventually import eventually, until
from tests.support.metrics import metric
from tests.support.program import Program, plain_environment
from tests.support.raw_ws import PING, RawWs
from tests.support.wire import Wire, get
from trunkline.control.tuning import Tuning

ATTACKER, OFFICE = "203.0.113.9", "198.51.100.4"


@contextlib.asynccontextmanager
async def connected(user: TestUser, count: int, address: str) -> AsyncIterator[list[RawWs]]:
    """Lines that never show a token."""
    lines = [
        await RawWs(again_url(user)).connect(X_Forwarded_For=f"spoofed, {address}")
        for _ in range(count)
    ]
    try:
        yield lines
    finally:
        for line in lines:
            async with line:
                pass


async def is_alive(line: RawWs, word: bytes) -> bool:
    await line.frame(PING, word)
    await line.pong(word)
    return not line.ended


async def test_a_strangers_lines_keep_no_machine_out_not_even_of_the_same_address(
    tmp_path: Path,
) -> None:
    settings: dict[str, Any] = {
        "connections_per_address_max": 3,
        "trusted_proxies": "127.0.0.1",
        "tuning": Tuning(auth_timeout_s=600.0),  # else who waits for long goes by themselves
    }
    async with running(tmp_path / "data", **settings) as control:
        user = await control.user()
        token = (await user.schedule())["token"]
        async with (
            connected(user, 1, OFFICE) as [elsewhere],
            connected(user, 3, ATTACKER) as first,
        ):
            machine = await RawWs(again_url(user)).connect(X_Forwarded_For=ATTACKER)
            async with machine:
                await machine.authenticate(token)
                await first[0].until(lambda: first[0].ended, "the oldest made room")
                async with connected(user, 5, ATTACKER):
                    assert await is_alive(machine, b"known lines make room for nobody")
                assert await is_alive(elsewhere, b"nor do those of other addresses")


async def test_when_the_port_is_full_strangers_make_room_for_who_comes(tmp_path: Path) -> None:
    async with running(tmp_path / "data", connections_max=6) as control:
        user = await control.user()
        token = (await user.schedule())["token"]
        async with contextlib.AsyncExitStack() as stack:
            slow = [await stack.enter_async_context(Wire(control)) for _ in range(6)]
            for wire in slow:
                await wire.send(b"GET / HTTP/1.1\r\n")
            machine = await stack.enter_async_context(await RawWs(again_url(user)).connect())
            await machine.authenticate(token)
            for _ in range(20):
                wire = await stack.enter_async_context(Wire(control))
                await wire.send(get("/healthz", wire.host))
                assert (await wire.answer())[0] == 200
            assert await is_alive(machine, b"still here")
            assert await metric(control, "connections_cut_total") > 0
            assert await metric(control, "connections_open") <= 6


async def test_a_new_connection_is_refused_only_where_all_that_are_there_are_known(
    tmp_path: Path,
) -> None:
    settings = {"connections_per_address_max": 2, "trusted_proxies": "127.0.0.0/8"}
    async with running(tmp_path / "data", **settings) as control:  # type: ignore[arg-type]
        user = await control.user()
        machines = [await user.schedule() for _ in range(2)]
        async with contextlib.AsyncExitStack() as stack:
            for machine in machines:
                line = await RawWs(again_url(user)).connect(X_Forwarded_For=OFFICE)
                await stack.enter_async_context(line)
                await line.authenticate(machine["token"])
            refused = await RawWs(again_url(user)).connect(X_Forwarded_For=OFFICE)
            assert refused.status == 429
            assert b"LIMIT_REACHED" in refused.body
            async with connected(user, 1, ATTACKER) as [other]:
                assert other.status == 101
        async with connected(user, 1, OFFICE) as [later]:
            assert later.status == 101


async def test_nobody_counts_as_another_by_a_header_that_no_named_proxy_wrote(
    tmp_path: Path,
) -> None:
    settings = {"connections_per_address_max": 1, "trusted_proxies": "192.0.2.1"}
    async with running(tmp_path / "data", **settings) as control:  # type: ignore[arg-type]
        user = await control.user()
        async with connected(user, 3, OFFICE) as lines:
            for number, line in enumerate(lines):
                assert await is_alive(line, b"%d" % number)


async def test_an_idle_http_connection_is_closed_also_with_half_a_request(tmp_path: Path) -> None:
    async with (
        running(tmp_path / "data", tuning=Tuning(keep_alive_s=0.1)) as control,
        Wire(control) as idle,
        Wire(control) as slow,
    ):
        for wire in (idle, slow):
            await wire.send(get("/healthz", wire.host))
            assert (await wire.answer())[0] == 200
        await slow.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert await idle.rest() == b""
        with contextlib.suppress(ConnectionResetError):
            assert await slow.rest() == b""


class _Small(Program):
    """A control plane that may have few files open."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.control = Control(f"http://127.0.0.1:{free_port()}")

    async def start(self) -> None:
        fresh_data.copy_to(self.home)
        port = self.control.url.rsplit(":", 1)[1]
        env = {
            **plain_environment(),
            "TRUNKLINE_PORT": port,
            "TRUNKLINE_DATA": str(self.home),
            "TRUNKLINE_ADMIN_TOKEN": ADMIN,
        }
        program = Path(sys.executable).with_name("trunkline")
        start = f"ulimit -n 120 && exec {shlex.quote(str(program))} control"
        await self.run("sh", "-c", start, env=env)
        await eventually(self._answers)

    async def _answers(self) -> bool:
        assert self.process.returncode is None, self.log[-2000:]
        try:
            return (await self.control.call("GET", "/sessions"))[0] == 200
        except aiohttp.ClientError:
            return False


async def test_descriptors_stay_in_reserve_when_more_connect_than_there_are_files(
    tmp_path: Path,
) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 400:
        pytest.skip("this process itself may open too few files")
    server = _Small(tmp_path / "data")
    await server.start()
    try:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(200):
                await stack.enter_async_context(Wire(server.control))
            user = await server.control.user()
            async with await user.vm() as vm:
                session_id = await user.session()
                await user.say(session_id, "hello")
                await vm.expect("user_message")
            descriptors = Path(f"/proc/{server.process.pid}/fd")
            await until(lambda: len(list(descriptors.iterdir())), lambda count: count < 110)
            assert "Too many open files" not in server.log
    finally:
        assert await server.stop() == 0


async def test_many_strangers_at_once_are_all_served_while_there_is_room(tmp_path: Path) -> None:
    async with running(tmp_path / "data", connections_max=300) as control:

        async def ask() -> int:
            async with Wire(control) as wire:
                await wire.send(get("/healthz", wire.host))
                return (await wire.answer())[0]

        assert await asyncio.gather(*(ask() for _ in range(200))) == [200] * 200
