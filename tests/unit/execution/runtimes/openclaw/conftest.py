"""A machine with the OpenClaw runtime: real bridges, and a scripted gateway in OpenClaw's place."""

import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.recording_line import RecordingLine
from tests.support.scripted_openclaw import __name__ as SCRIPTED
from trunkline.execution.home import Home
from trunkline.execution.process import family
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.openclaw.gateway import Gateway
from trunkline.execution.runtimes.openclaw.runtime import OpenClaw
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process import Patience, SessionProcess

Json = dict[str, Any]

ROOT = Path(__file__).parents[5]
ENV = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": str(ROOT)}
KEYS = {"openai": "sk-first-of-all"}
LLM: Json = {"providers": {"openai": {"base_url": "http://127.0.0.1:9/v1"}}}


class Machine:
    """`program`: how OpenClaw is started; nothing is a machine without it. `check_s`: how often it
    is looked after its gateway."""

    def __init__(
        self, home: Home, line: RecordingLine, sockets: SocketFolder, check_s: float = 15.0
    ) -> None:
        self.home = home
        self.line = line
        self.program: tuple[str, ...] = (sys.executable, "-m", SCRIPTED)
        self.naps: list[float] = []
        gateway = Gateway(
            home,
            program=lambda: self.program,
            node=programs.node() or "",
            env=ENV,
            routes_env={},
            check_s=check_s,
            sleep=self._nap,
        )
        self.openclaw = OpenClaw(home, sockets, Patience(), env=ENV, routes_env={}, gateway=gateway)
        self.manager = SessionManager(
            line,
            home,
            {"openclaw": self.openclaw.adapter},
            sessions_max=10,
            clock=time.time,
            local=self.openclaw.local,
        )
        self.rekey(KEYS)

    async def _nap(self, seconds: float) -> None:
        self.naps.append(seconds)

    def rekey(self, keys: dict[str, str]) -> None:
        self.manager.initialized({"api_keys": keys, "llm_config": LLM})
        self.openclaw.rekey(keys, LLM)

    async def start(self, session_id: str = "s-1", **fields: Any) -> None:
        agent = {"model": "gpt-x", **fields.pop("agent_config", {})}
        data = {"session_id": session_id, "runtime_type": "openclaw", "agent_config": agent}
        await self.manager.start_session({**data, **fields})

    async def say(self, message: str, turn_id: str = "t-1", session_id: str = "s-1") -> Json:
        """The end of the turn."""
        self.line.say(session_id, message, turn_id)
        return await self.line.end_of(session_id, turn_id)

    async def settings(self, turn_id: str = "t-s", session_id: str = "s-1") -> Json:
        """What the gateway was told of a session."""
        found: Json = json.loads((await self.say("settings", turn_id, session_id))["content"])
        return found

    def bridge(self, session_id: str = "s-1") -> int:
        adapter = self.manager.active_sessions[session_id].adapter
        assert isinstance(adapter, SessionProcess)
        assert adapter.pid is not None
        return adapter.pid

    async def close(self) -> None:
        await self.manager.close()
        await self.openclaw.stop()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.make()
    return made


@pytest.fixture
def line() -> RecordingLine:
    return RecordingLine()


@pytest.fixture
async def machine(home: Home, line: RecordingLine, sockets: SocketFolder) -> AsyncIterator[Machine]:
    made = Machine(home, line, sockets)
    before = family.children()
    yield made
    await made.close()
    assert family.children() <= before


def gateway_of(machine: Machine) -> int:
    """Of OpenClaw itself, below its guard."""
    guard = machine.openclaw.gateway.pid
    assert guard is not None
    return int(psutil.Process(guard).children()[0].pid)


def environment_of(pid: int) -> Mapping[str, str]:
    text = Path(f"/proc/{pid}/environ").read_text()
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)
