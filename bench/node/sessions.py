"""Sessions without a line: the real fork server and session processes, and a socket to each.

What is measured is what the daemon waits for: from the order to start to `ready`, and from a
user's message to the event that ends its turn.
"""

import asyncio
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil

from bench.node import mcp_server
from trunkline.execution.home import Home
from trunkline.execution.process.child import Failure
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.session import ipc
from trunkline.execution.session.process import Patience, SessionProcess

TURN_S_MAX = 30.0
FILE = "a short file\n"


class BenchError(Exception):
    """A session did not do what it was told."""


@dataclass
class Seen:
    """What the sessions of a run showed."""

    start_ms: list[float] = field(default_factory=list)
    ready_mib: list[float] = field(default_factory=list)
    """Memory of its own, per session, when it is ready."""
    memory_mib: list[float] = field(default_factory=list)
    """The same after a turn: what Python touches, it copies."""
    later_mib: list[float] = field(default_factory=list)
    """And after some more, which shows what grows with every turn."""
    mcp_mib: list[float] = field(default_factory=list)
    """Of a session with a stdio MCP server, after a turn; the server's own is not counted."""
    turn_ms: list[float] = field(default_factory=list)


class Session:
    """One session's process, and the end of its running turn."""

    def __init__(self, spawner: Spawner, sockets: SocketFolder, folder: Path) -> None:
        self.process = SessionProcess(
            spawner.spawn,
            sockets,
            Patience(),
            folder,
            on_message=self._take,
            on_ended=self._ended,
        )
        self._end: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def _take(self, message: ipc.Up) -> None:
        match message:
            case ipc.SseEvent(data=data) if '"execution_' in data:
                if not self._end.done():
                    self._end.set_result(data)
            case ipc.Request(id=number):
                # A control plane with no memories, tools or skills.
                self.process.send(ipc.Response(id=number, result={}))

    def _ended(self, failure: Failure) -> None:
        if not self._end.done():
            self._end.set_exception(BenchError(failure.message))

    def own_mib(self) -> float:
        """Memory that no other process shares."""
        assert self.process.pid is not None
        return float(psutil.Process(self.process.pid).memory_full_info().uss) / 2**20

    async def turn(self, number: int) -> float:
        """Milliseconds of a turn with one tool call."""
        self._end = asyncio.get_running_loop().create_future()
        started = time.perf_counter()
        data = ipc.UserMessageData(message="tool please", turn_id=f"turn-{number}")
        self.process.send(ipc.UserMessage(data=data))
        async with asyncio.timeout(TURN_S_MAX):
            end = await self._end
        took_ms = (time.perf_counter() - started) * 1000
        if msgspec.json.decode(end)["type"] != "execution_complete":
            raise BenchError(end[:500])
        return took_ms


async def measure(
    folder: Path, model_url: str, *, sessions: int, memory_turns: int, turns: int
) -> Seen:
    home = Home(folder)
    home.make()
    (home.workspace / "bench.txt").write_text(FILE)
    env = {"PATH": os.environ["PATH"]}
    spawner, sockets = Spawner(env, home.workspace), SocketFolder(home.run)
    seen = Seen()
    opened: list[Session] = []
    try:
        await spawner.start()
        await spawner.pid()  # warm from here on
        usual = ipc.Start(
            session_id="",
            home=str(folder),
            agent_config={"model": "gpt-bench"},
            api_keys={"openai": "none"},
            llm_config={"providers": {"openai": {"base_url": model_url}}},
        )
        for number in range(sessions):
            start = msgspec.structs.replace(usual, session_id=f"bench-{number}")
            session = Session(spawner, sockets, home.session(start.session_id))
            started = time.perf_counter()
            await session.process.start(start)
            seen.start_ms.append((time.perf_counter() - started) * 1000)
            opened.append(session)
        seen.ready_mib = [session.own_mib() for session in opened]
        await _turns(opened, range(1))
        seen.memory_mib = [session.own_mib() for session in opened]
        await _turns(opened, range(1, memory_turns))
        seen.later_mib = [session.own_mib() for session in opened]
        numbers = range(memory_turns, memory_turns + turns)
        seen.turn_ms = [await opened[0].turn(number) for number in numbers]
        server = {"name": "bench", "command": sys.executable, "args": [mcp_server.__file__]}
        with_mcp = msgspec.structs.replace(usual, session_id="bench-mcp", mcp_servers=[server])
        session = Session(spawner, sockets, home.session("bench-mcp"))
        opened.append(session)
        await session.process.start(with_mcp)
        await session.turn(0)  # which waits for the server's tools
        seen.mcp_mib = [session.own_mib()]
    finally:
        await asyncio.gather(*(one.process.stop("done") for one in opened))
        await spawner.close()
        sockets.close()
    return seen


async def _turns(opened: list[Session], numbers: range) -> None:
    for number in numbers:
        for session in opened:
            await session.turn(number)
