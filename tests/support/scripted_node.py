"""The real daemon with scripted sessions: a program, and what tests do with it.

`python -m tests.support.scripted_node` is `trunkline.execution.main`, but for the program that its
sessions run and for how long it waits for a process that hangs.
"""

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from tests.support import pids, session_program
from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.program import Program

SECRETS = {
    "OPENAI_API_KEY": "sk-key-of-the-machine",
    "GITHUB_TOKEN": "token-of-somebody",
    "TRUNKLINE_ADMIN_TOKEN": "token-of-the-admin",
}


class ScriptedNode(Program):
    """A daemon that can be killed, and started again with the same home."""

    def __init__(self, user: TestUser, home: Path, ws_url: str | None = None) -> None:
        super().__init__(home)
        self.user = user
        self._ws_url = ws_url
        self.machine_id = ""
        self.credentials: list[str] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls, user: TestUser, home: Path, ws_url: str | None = None
    ) -> "AsyncIterator[ScriptedNode]":
        """Online, and gone afterwards, whatever came of it."""
        node = cls(user, home, ws_url)
        await node.launch()
        try:
            await node.online()
            yield node
        finally:
            await node.stop()

    async def start(self) -> "ScriptedNode":
        await self.launch()
        await self.online()
        return self

    async def online(self) -> None:
        async def is_online() -> bool:
            assert self.process.returncode is None, self.log[-3000:]
            machine = await self.user.ok("GET", f"/machines/{self.machine_id}")
            return bool(machine["online"])

        await eventually(is_online)

    async def launch(self) -> None:
        if self.machine_id:
            made = await self.user.ok("POST", f"/machines/{self.machine_id}/token")
        else:
            made = await self.user.schedule()
            self.machine_id = made["vm_id"]
        self.credentials += [made["token"], made["ticket"]]
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "VM_USER_ID": self.user.id,
            "VM_TOKEN": made["token"],
            "VM_TICKET": made["ticket"],
            "CONTROL_PLANE_WS": self._ws_url or made["ws_url"],
            "TRUNKLINE_NODE_HOME": str(self.home),
            "TRUNKLINE_LOG_LEVEL": "debug",
            **SECRETS,
        }
        await self.run(sys.executable, "-m", __name__, env=env)

    async def fork_server(self) -> int:
        """Its process, once it is there."""

        async def look() -> list[int]:
            # Its sessions have the same command line; they are its children, not the daemon's.
            children = [pid for pid, of in pids.parents().items() if of == self.process.pid]
            return [pid for pid in children if "fork_server" in pids.command_line(pid)]

        return (await eventually(look))[0]


def main() -> None:
    from trunkline.execution.main import run
    from trunkline.execution.session.process import Patience
    from trunkline.execution.settings import NodeSettings

    settings = NodeSettings.from_env()
    run(
        msgspec.structs.replace(
            settings,
            target=f"{session_program.__name__}:main",
            patience=Patience(ping_s=0.1, pings_max=20, stop_s=2.0),
        )
    )


if __name__ == "__main__":
    main()
