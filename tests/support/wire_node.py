"""`trunkline node --wire …` as a process, the foreign server that it works for, and its model."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Generic, TypeVar

from tests.support.eventually import eventually
from tests.support.foreign_servers import ForeignServer
from tests.support.model_server import ModelServer

Server = TypeVar("Server", bound=ForeignServer)
_HIDDEN = ("TRUNKLINE", "API_KEY", "BASE_URL", "VM_")
BOUND_S = 90
AGP = ("--wire", "agp", "--guid", "device_001", "--user-id", "user_123")
YEAFT = ("--wire", "yeaft", "--id", "desk-1", "--name", "Desk")


class WireNode:
    """The command as a person runs it."""

    def __init__(self, home: Path, model: ModelServer) -> None:
        self.home = home
        self._model = model
        self._log = home.with_suffix(".log")
        self.process: asyncio.subprocess.Process

    async def start(self, *flags: str, token: str = "right") -> "WireNode":
        env = {
            name: value
            for name, value in os.environ.items()
            if not any(hidden in name for hidden in _HIDDEN)
        }
        env |= {"OPENAI_API_KEY": "key-of-openai", "OPENAI_BASE_URL": self._model.openai_url}
        env |= {"TRUNKLINE_WIRE_TOKEN": token}
        program = Path(sys.executable).with_name("trunkline")
        command = (str(program), "node", "--home", str(self.home))
        with self._log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *command,
                *("--model", "gpt-scripted"),
                *flags,
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def _owed(self) -> list[Path]:
        return list((self.home / ".semibot").glob("*/owed.jsonl"))

    def owes(self, what: bytes) -> bool:
        """Whether its write-ahead file holds that."""
        return any(what in path.read_bytes() for path in self._owed)

    async def has_delivered(self) -> None:
        """It knows that all that it sent has arrived."""

        async def is_clear() -> bool:
            return not any(path.stat().st_size for path in self._owed)

        await eventually(is_clear)

    @property
    def proof(self) -> Path:
        return self.home / "workspace" / "proof.txt"

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(BOUND_S):
                return await self.process.wait()
        except TimeoutError:
            os.killpg(self.process.pid, signal.SIGKILL)
            return await self.process.wait()


class Place(Generic[Server]):
    """A foreign server, a machine of ours on it, and its model."""

    def __init__(self, server: Server, node: WireNode, model: ModelServer) -> None:
        self.server = server
        self.node = node
        self.model = model


@asynccontextmanager
async def place(server: Server, folder: Path, *flags: str) -> AsyncIterator[Place[Server]]:
    async with ModelServer() as model, server:
        node = await WireNode(folder / "home", model).start(*flags, "--server", server.url)
        try:
            await server.connected()
            yield Place(server, node, model)
        finally:
            await node.stop()
