"""A hosted session with a program that a test writes, and a daemon at the other end."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import Clock
from tests.support.model_server import ModelServer
from tests.unit.execution.orchestrator.daemon import LINE_BYTES_MAX, Daemon
from trunkline.execution.json_object import Json
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.runtimes.hosted.host import HostedSession
from trunkline.execution.runtimes.hosted.program import Opening, Program
from trunkline.execution.runtimes.hosted.turn import Turn
from trunkline.execution.session import serving

Play = Callable[[Turn], Awaitable[str]]


class Scripted(Program):
    """Plays what the test says; `ended` tells in which ways it was ended."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.opening: Opening
        self.ended: list[str] = []
        self.configured: list[Json] = []
        self.aborted = asyncio.Event()

    def __call__(self, opening: Opening) -> "Scripted":
        self.opening = opening
        return self

    async def run(self, turn: Turn) -> str:
        return await self.play(turn)

    def configure(self, settings: Settings, patch: Json) -> None:
        self.configured.append(patch)

    def abort(self) -> None:
        self.ended.append("abort")
        self.aborted.set()

    async def close(self) -> None:
        self.ended.append("close")


class Hosted(Daemon):
    """The daemon of one hosted session."""

    async def host(self, program: Scripted, **config: Any) -> "Hosted":
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_BYTES_MAX)
        far = await asyncio.open_connection(sock=theirs, limit=LINE_BYTES_MAX)
        assert self.clock is not None
        opened = partial(
            HostedSession.open,
            program,
            env={},
            clock=self.clock,
            monotonic=self.clock,
            sleep=self.clock.sleep,
        )
        self.process = asyncio.create_task(serving.serve(*far, open_session=opened))
        where = {"runtime_type": "scripted", "workspace": str(self.home.workspace)}
        await self.serve(reader, writer, **where | config)
        return self


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with Hosted(tmp_path, ModelServer(), Clock()) as daemon:
        assert isinstance(daemon, Hosted)
        yield daemon
