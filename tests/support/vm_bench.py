"""What tests of the VM scheduler stand on: a clock turned by hand, a server, a scheduler."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from tests.support import scripted_daemon
from tests.support.lines import MemoryLines, serve_lines
from trunkline.control.access.auth import Auth, Principal
from trunkline.control.access.keys import Keys
from trunkline.control.machines.local_vm import VM_SLOW_RESTART_S
from trunkline.control.machines.vms import Vms
from trunkline.control.settings import Settings
from trunkline.control.store import schema
from trunkline.control.store.engine import Store, sqlite_url

BOUND_S = 30
CONNECT_S = 777.0
AWAY_S = 555.0
URL = "https://agents.example"
ADMIN = Principal("admin", "org-1", "admin")


class Time:
    """A clock that is turned by hand. Back-off passes at once; time limits end when told."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.step_ms = 0
        self.slept: list[float] = []
        self._limits: dict[float, asyncio.Event] = {}

    def clock(self) -> int:
        self.now_ms += self.step_ms
        return self.now_ms

    async def sleep(self, seconds: float) -> None:
        if seconds in (CONNECT_S, AWAY_S, VM_SLOW_RESTART_S):
            await self._limits.setdefault(seconds, asyncio.Event()).wait()
        else:
            self.slept.append(seconds)

    def pass_limit(self, seconds: float) -> None:
        self._limits.setdefault(seconds, asyncio.Event()).set()


class Bench:
    """A store with two users, a server that VMs can reach, and the scheduler over both."""

    def __init__(self, store: Store, auth: Auth, lines: MemoryLines, url: str, data: Path) -> None:
        self.store, self.auth, self.lines, self.url, self.data = store, auth, lines, url, data
        self.time = Time()
        self.env: dict[str, str] = dict(os.environ)
        self._made: list[Vms] = []

    async def vms(
        self,
        *flags: str,
        command: str | None = None,
        problem: Callable[[], str | None] | None = None,
        **more: Any,
    ) -> Vms:
        """A scheduler whose local VMs run the scripted daemon with these flags; with a `problem`,
        our own daemon, which has it."""
        program = f"{sys.executable} {scripted_daemon.__file__} {' '.join(flags)}"
        settings = Settings(
            data=str(self.data),
            vm_command=None if problem else program if command is None else command,
            vm_connect_timeout_s=CONNECT_S,
            machine_away_s=AWAY_S,
            **more,
        )
        vms = Vms(
            *(self.store, self.auth, settings, self.lines, self.time.clock),
            sleep=self.time.sleep,
            env=self.env,
            problem=problem or (lambda: None),
        )
        self._made.append(vms)
        await vms.start(self.url)
        return vms

    async def local(self, vms: Vms) -> str:
        return (await vms.schedule(ADMIN, "user-1", "local", base_url=URL)).vm_id

    async def row(self, machine_id: str) -> Any:
        query = select(schema.machines).where(schema.machines.c.id == machine_id)
        async with self.store.read() as connection:
            return (await connection.execute(query)).one()

    async def until_failed(self, machine_id: str) -> str:
        async with asyncio.timeout(BOUND_S):
            await self.lines.until(lambda: machine_id in self.lines.failures)
        return self.lines.failures[machine_id]

    async def until_online(self, machine_id: str, lives: int = 1) -> None:
        """Until it is connected, for the nth time."""
        lines = self.lines
        async with asyncio.timeout(BOUND_S):
            await lines.until(
                lambda: lines.connections[machine_id] >= lives and lines.is_online(machine_id)
            )

    async def until_offline(self, machine_id: str) -> None:
        async with asyncio.timeout(BOUND_S):
            await self.lines.wait_offline(machine_id)

    async def close(self) -> None:
        for vms in self._made:
            await vms.stop()


@asynccontextmanager
async def vm_bench(folder: Path, keys: Keys) -> AsyncIterator[Bench]:
    """An org with an admin and two users."""
    store = await Store.open(sqlite_url(folder / "records.db"))
    async with store.write() as connection:
        await connection.execute(insert(schema.orgs).values(id="org-1", name="Org", created_at=1))
        for user_id in ("admin", "user-1", "user-2"):
            await connection.execute(
                insert(schema.users).values(
                    id=user_id, org_id="org-1", name=user_id, role="member", created_at=1
                )
            )
    auth, lines = Auth(store, keys, None), MemoryLines()
    async with serve_lines(lines, auth) as url:
        bench = Bench(store, auth, lines, url, folder / "data")
        yield bench
        await bench.close()
    await store.close()
