"""An ACP session as the daemon has it, forked and driven: nothing of it outlives it, whoever is
killed, and it goes on."""

import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from tests.support import acp_agent, pids
from tests.support.eventually import eventually
from tests.support.recording_line import RecordingLine
from tests.unit.execution.conftest import ENV, TARGET
from trunkline.execution.home import Home
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.runtimes.acp import process
from trunkline.execution.runtimes.hosted.adapter import HostedAdapter
from trunkline.execution.runtimes.hosted.state import take_snapshot
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process import Patience

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
COMMAND = [sys.executable, str(acp_agent.__file__)]
START: Json = {
    "session_id": "s-1",
    "runtime_type": "acp",
    "agent_config": {"acp": {"command": COMMAND}},
}
ESCAPES = {"spawn": ["sleep", "600"]}  # in a kernel session of its own


class Machine:
    """A daemon's sessions; `again` is its restart."""

    def __init__(self, root: Path, spawner: Spawner, sockets: SocketFolder) -> None:
        self.line = RecordingLine()
        self.home = Home(root)
        self.home.make()
        self._make = partial(
            HostedAdapter,
            partial(spawner.spawn, target=f"{process.__name__}:main"),
            sockets,
            Patience(),
        )
        self.manager = self._manager()
        self._turns = 0

    def _manager(self) -> SessionManager:
        runtimes = {"acp": self._make}
        return SessionManager(
            self.line, self.home, runtimes, sessions_max=5, clock=time.time, local={}
        )

    async def again(self) -> None:
        await self.manager.close()
        self.manager = self._manager()
        await self.manager.start_session(START)

    def say(self, *steps: Json) -> str:
        self._turns += 1
        turn_id = f"t-{self._turns}"
        self.line.say("s-1", json.dumps(list(steps)), turn_id)
        return turn_id

    async def play(self, *steps: Json) -> Json:
        return await self.line.end_of("s-1", self.say(*steps))

    async def numbers(self, count: int) -> list[int]:
        """The pids that the agent has said."""

        async def said() -> list[int]:
            text = " ".join(one["content"] for one in self.line.events("s-1", "text_chunk"))
            return [int(word) for word in text.split() if word.isdigit()]

        return await eventually(said, lambda found: len(found) >= count)

    def agent(self) -> psutil.Process:
        everybody = psutil.Process().children(recursive=True)
        [found] = [one for one in everybody if acp_agent.__file__ in _words(one)]
        return found


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def forks(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Spawner]:
    made = Spawner(ENV, tmp_path_factory.mktemp("fork-server"), TARGET)
    await made.start()
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def machine(tmp_path: Path, forks: Spawner, sockets: SocketFolder) -> AsyncIterator[Machine]:
    made = Machine(tmp_path / "home", forks, sockets)
    await made.manager.start_session(START)
    yield made
    await made.manager.close()


async def test_a_closed_session_leaves_nothing_behind(machine: Machine) -> None:
    await machine.play(ESCAPES, {"ask": ["terminal/create", {"command": "sleep", "args": ["601"]}]})
    agent = machine.agent()
    [escaped] = await machine.numbers(1)
    parent = agent.parent()
    assert parent is not None
    family = [escaped, parent.pid, *(one.pid for one in parent.children(recursive=True))]
    await machine.manager.stop_session({"session_id": "s-1", "reason": "user_closed"})
    await pids.until_gone(*family)


async def test_an_agent_that_is_killed_takes_what_it_started_with_it_and_goes_on(
    machine: Machine,
) -> None:
    turn = machine.say(ESCAPES, {"wait": True})
    [escaped] = await machine.numbers(1)
    machine.agent().kill()
    end = await machine.line.end_of("s-1", turn)
    assert (end["type"], end["code"]) == ("execution_error", "RUNTIME_CRASHED")
    await pids.until_gone(escaped)
    end = await machine.play({"heard": "session/load"})
    assert len(json.loads(end["content"])) == 1


async def test_a_sessions_process_that_is_killed_takes_its_agent_with_it_and_goes_on(
    machine: Machine,
) -> None:
    turn = machine.say(ESCAPES, {"wait": True})
    [escaped] = await machine.numbers(1)
    agent = machine.agent()
    parent = agent.parent()
    assert parent is not None
    os.kill(parent.pid, signal.SIGKILL)
    end = await machine.line.end_of("s-1", turn)
    assert (end["type"], end["code"]) == ("execution_error", "SESSION_CRASHED")
    await pids.until_gone(agent.pid, escaped, parent.pid)
    end = await machine.play({"heard": "session/load"})
    assert len(json.loads(end["content"])) == 1
    ends = [one for one in machine.line.events("s-1") if one.get("turn_id") == turn]
    assert [one["type"] for one in ends].count("execution_error") == 1


async def test_a_restarted_daemon_goes_on_with_the_agents_own_session(machine: Machine) -> None:
    await machine.play({"say": "first"})
    await machine.again()
    end = await machine.play({"heard": "session/load"})
    [loaded] = json.loads(end["content"])
    assert loaded["sessionId"].startswith("s-")


async def test_what_a_later_start_needs_is_in_the_snapshot(machine: Machine) -> None:
    await machine.play({"say": "first"})
    snapshot = take_snapshot(machine.home.session("s-1"))
    assert snapshot["runtime_type"] == "acp"
    assert snapshot["runtime_state"]["session_id"].startswith("s-")


async def test_an_agent_that_opens_no_session_is_gone_with_all_that_it_left(
    machine: Machine, tmp_path: Path
) -> None:
    left = tmp_path / "left"
    leaves = f'setsid sleep 600 & echo $! > "{left}"; exec "$0" "$@" --login SOME_KEY'
    config = {"acp": {"command": ["sh", "-c", leaves, *COMMAND]}}
    await machine.manager.start_session(START | {"session_id": "s-2", "agent_config": config})
    machine.line.say("s-2", "Hi", "t-1")
    assert (await machine.line.end_of("s-2", "t-1"))["code"] == "RUNTIME_LOGIN"
    await pids.until_gone(int(left.read_text()))
