"""A session of the ACP runtime with a scripted agent, and a daemon at the other end."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import acp_agent
from tests.support.eventually import WAIT_S
from tests.support.model_server import ModelServer
from tests.unit.execution.orchestrator.daemon import LINE_BYTES_MAX, Daemon
from trunkline.execution.runtimes.acp.program import AcpProgram
from trunkline.execution.runtimes.hosted.host import HostedSession
from trunkline.execution.session import serving

Json = dict[str, Any]
AGENT = [sys.executable, str(acp_agent.__file__)]


class Acp(Daemon):
    """The daemon of one ACP session. Prompts are steps that the agent plays."""

    def __init__(self, root: Path) -> None:
        # The model server is never asked: the agent is scripted itself.
        super().__init__(root, ModelServer())
        self._sessions: list[asyncio.Task[int]] = []

    async def close(self) -> None:
        """The daemon is gone, and its sessions with it."""
        if self._sessions:
            self.hang_up()
            await asyncio.wait(self._sessions, timeout=WAIT_S)

    async def host(self, *flags: str, env: dict[str, str] | None = None, **config: Any) -> "Acp":
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_BYTES_MAX)
        far = await asyncio.open_connection(sock=theirs, limit=LINE_BYTES_MAX)
        given = {"PATH": os.environ["PATH"], "HOME": str(self.home.root), **(env or {})}
        opened = partial(HostedSession.open, AcpProgram, env=given)
        self.process = asyncio.create_task(serving.serve(*far, open_session=opened))
        self._sessions.append(self.process)
        agent = {"acp": {"command": [*AGENT, *flags]}, "model": ""} | config.pop("agent_config", {})
        where = {"runtime_type": "acp", "workspace": str(self.home.workspace)}
        await self.serve(reader, writer, agent_config=agent, **where | config)
        return self

    async def play(self, *steps: Json, **data: Any) -> Json:
        """How the turn ended that these steps make."""
        return await self.ask(json.dumps(list(steps)), **data)

    def begin(self, *steps: Json) -> str:
        return self.say(json.dumps(list(steps)))

    def of(self, kind: str, turn_id: str = "") -> list[Json]:
        return [
            one
            for one in self.events
            if one["type"] == kind and turn_id in ("", one.get("turn_id"))
        ]


@pytest.fixture
async def acp(tmp_path: Path) -> AsyncIterator[Acp]:
    daemon = Acp(tmp_path)
    async with daemon:
        yield daemon
        await daemon.close()
