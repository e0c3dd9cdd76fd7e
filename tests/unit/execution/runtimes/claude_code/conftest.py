"""A session of Claude Code with a daemon at the other end and a scripted model behind it."""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.model_server import ModelServer, ToolUse, Turn
from tests.unit.execution.orchestrator.daemon import LINE_BYTES_MAX, Daemon, Json
from tests.unit.execution.runtimes.claude_code import scripted_claude
from trunkline.execution.home import Home
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.claude_code.program import ClaudeCode
from trunkline.execution.runtimes.hosted.host import HostedSession
from trunkline.execution.runtimes.hosted.program import Opening
from trunkline.execution.session import ipc, serving

CACHE = Path(__file__).parents[5] / ".programs"
"""Where the test target installs programs, once per clone."""


class Talk(Daemon):
    """The daemon of one session; several processes may follow each other."""

    program: tuple[str, ...] = ()
    env: dict[str, str]
    workspace: Path

    def __init__(self, root: Path, server: ModelServer) -> None:
        super().__init__(root, server)
        self._others = set(psutil.Process().children())

    def children(self) -> list[psutil.Process]:
        """What was started for this session; other tests of this run may have left servers."""
        return [one for one in psutil.Process().children() if one not in self._others]

    async def host(self, **config: Any) -> "Talk":
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_BYTES_MAX)
        far = await asyncio.open_connection(sock=theirs, limit=LINE_BYTES_MAX)

        def make(opening: Opening) -> ClaudeCode:
            self.claude = ClaudeCode(opening, lambda: self.program)
            return self.claude

        opened = partial(
            HostedSession.open,
            make,
            env=self.env,
            clock=time.time,
            monotonic=time.monotonic,
            sleep=asyncio.sleep,
        )
        self.process = asyncio.create_task(serving.serve(*far, open_session=opened))
        self._processes.append(self.process)
        where = {"runtime_type": "claude-code", "workspace": str(self.workspace)}
        model = {"model": "claude-sonnet-4-5", **config.pop("agent_config", {})}
        await self.serve(reader, writer, agent_config=model, **where | config)
        return self

    async def question(self, number: int = 0) -> Json:
        return await self.event("approval_request", number)

    def reply(self, question: Json, **answer: Any) -> None:
        data = {"request_id": question["request_id"], "confirmed": True, **answer}
        self.send(ipc.ApprovalResponse(data=data))

    def lines(self) -> list[Json]:
        """The program's own lines, as clients of its format get them."""
        raws = [one["raw"] for one in self.events if "message" in one.get("raw", {})]
        assert {raw["protocol"] for raw in raws} <= {"yeaft"}
        return [raw["message"]["data"] for raw in raws]


def bash(command: str) -> Turn:
    return Turn(tool_calls=[ToolUse(name="Bash", arguments={"command": command})])


def real_program() -> tuple[str, ...]:
    """The real Claude Code, or the test is skipped."""
    found = programs.locate("claude-code", Home(CACHE), os.environ)
    if not found:
        pytest.skip("Claude Code is not installed here")
    return found


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@asynccontextmanager
async def opened(folder: Path, model: ModelServer) -> AsyncIterator[Talk]:
    workspace, own = folder / "work", folder / "user"
    workspace.mkdir()
    own.mkdir()
    async with Talk(folder / "home", model) as daemon:
        assert isinstance(daemon, Talk)
        daemon.workspace = workspace
        daemon.env = {"PATH": os.environ["PATH"], "HOME": str(own)}
        yield daemon


@pytest.fixture
async def talk(tmp_path: Path, model: ModelServer) -> AsyncIterator[Talk]:
    async with opened(tmp_path, model) as daemon:
        yield daemon


def text(said: str) -> list[Any]:
    message = {"id": said, "model": "m", "content": [{"type": "text", "text": said}]}
    return ["line", {"type": "assistant", "session_id": "c-1", "message": message}]


def answer(said: str, **fields: Any) -> list[Any]:
    return ["result", {"result": said, **fields}]


class Stage:
    """A scripted program in Claude Code's place, and what it was told."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._told = talk.workspace / "told"
        self._play = talk.workspace / "play"
        talk.program = (sys.executable, scripted_claude.__file__)
        talk.env |= {"PLAY": str(self._play), "TOLD": str(self._told)}

    def plays(self, *turns: list[Any]) -> None:
        self._play.write_text(json.dumps(turns))

    def told(self) -> list[Json]:
        return [json.loads(line) for line in self._told.read_text().splitlines()]

    def starts(self) -> list[list[str]]:
        return [one["argv"] for one in self.told() if "argv" in one]

    @property
    def is_running(self) -> bool:
        return self._told.exists() and bool(self.starts())

    def answers(self) -> list[Json]:
        sent = [one["response"] for one in self.told() if one.get("type") == "control_response"]
        return [one.get("response", one) for one in sent]


@pytest.fixture
def stage(talk: Talk) -> Stage:
    return Stage(talk)
