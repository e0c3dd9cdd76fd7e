"""`trunkline node --wire …` as a process, the foreign server that it works for, and its model."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Generic, TypeVar

from tests.support.eventually import eventually
from tests.support.foreign_servers import ForeignServer
from tests.support.model_server import ModelServer
from tests.support.program import Program, plain_environment

Server = TypeVar("Server", bound=ForeignServer)
BOUND_S = 90
AGP = ("--wire", "agp", "--guid", "device_001", "--user-id", "user_123")
YEAFT = ("--wire", "yeaft", "--id", "desk-1", "--name", "Desk")


class WireNode(Program):
    """The command as a person runs it."""

    def __init__(self, home: Path, model: ModelServer) -> None:
        super().__init__(home)
        self._model = model

    async def start(self, *flags: str, token: str = "right") -> "WireNode":
        env = plain_environment()
        env |= {"OPENAI_API_KEY": "key-of-openai", "OPENAI_BASE_URL": self._model.openai_url}
        env |= {"TRUNKLINE_WIRE_TOKEN": token}
        program = Path(sys.executable).with_name("trunkline")
        command = (str(program), "node", "--home", str(self.home), "--model", "gpt-scripted")
        await self.run(*command, *flags, env=env)
        return self

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
