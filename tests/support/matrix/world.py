"""A control plane, a person, and machines of every kind that are opened when they are needed."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.control import Control, TestUser, running
from tests.support.matrix.agp_machine import AgpMachine
from tests.support.matrix.client import ClientDriver, opened
from tests.support.matrix.daemon_machine import DaemonMachine
from tests.support.matrix.machine import MachineDriver
from tests.support.matrix.myagent_client import MyAgentClient
from tests.support.matrix.rest_client import RestClient
from tests.support.matrix.steps import Client, Machine
from tests.support.matrix.yeaft_client import YeaftClient
from tests.support.matrix.yeaft_machine import DeployedYeaftMachine, YeaftMachine
from tests.support.node import MODEL


class World:
    def __init__(self, control: Control, user: TestUser, folder: Path) -> None:
        self.control = control
        self.user = user
        self._folder = folder
        self._machines: dict[Machine, MachineDriver] = {}
        self._stack = contextlib.AsyncExitStack()

    async def machine(self, kind: Machine) -> MachineDriver:
        """The one machine of that kind."""
        if kind not in self._machines:
            self._machines[kind] = await self._open(kind)
            self._stack.push_async_callback(self._machines[kind].close)
        return self._machines[kind]

    async def _open(self, kind: Machine) -> MachineDriver:
        match kind:
            case Machine.EXECUTION_PLANE:
                return await DaemonMachine(self.user, self._folder / "home").open()
            case Machine.YEAFT_DOCUMENTED:
                return await YeaftMachine(self.user, "documented").open()
            case Machine.YEAFT_DEPLOYED:
                return await DeployedYeaftMachine(self.user, "deployed").open()
            case Machine.AGP:
                return await AgpMachine(self.user, f"phone-of-{self.user.id}").open()

    def client(self, kind: Client) -> contextlib.AbstractAsyncContextManager[ClientDriver]:
        return opened(_CLIENTS[kind](self.user))

    async def logged(self, session_id: str) -> list[str]:
        """The types of the session's events so far, and its pieces of text as they are."""
        page = await self.user.ok("GET", f"/sessions/{session_id}/events?limit=500")
        events = [one["event"] for one in page["items"]]
        return [
            one["content"] if one["type"] == "text_chunk" else f"<{one['type']}>" for one in events
        ]

    async def close(self) -> None:
        await self._stack.aclose()


_CLIENTS: dict[Client, type[ClientDriver]] = {
    Client.REST: RestClient,
    Client.MYAGENT: MyAgentClient,
    Client.YEAFT_WEB: YeaftClient,
}


@contextlib.asynccontextmanager
async def open_world(folder: Path) -> AsyncIterator[World]:
    async with running(
        folder / "data", rate_limit_per_minute=0, default_model=MODEL, machine_away_s=60
    ) as control:
        world = World(control, await control.user(), folder)
        try:
            yield world
        finally:
            await world.close()
