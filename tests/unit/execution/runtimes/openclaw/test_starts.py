"""How a bridge comes up beside other runtimes, and what becomes of one that does not."""

import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.programs import put_program
from tests.support.recording_line import RecordingLine
from tests.unit.execution.runtimes.openclaw.conftest import ENV, Machine
from trunkline.execution.home import Home
from trunkline.execution.process.fork_client import Spawner
from trunkline.execution.process.sockets import SocketFolder
from trunkline.execution.runtimes.openclaw.runtime import OpenClaw
from trunkline.execution.session.manager import SessionManager
from trunkline.execution.session.process import PROCESS_READY_S, Patience
from trunkline.execution.session.semigraph_adapter import SemiGraphAdapter
from trunkline.execution.session.session import MakeAdapter

pytestmark = pytest.mark.slow

SAYS_ERROR = """
import os, socket
line = socket.socket(socket.AF_UNIX)
line.connect(os.environ["SOCKET_PATH"])
line.recv(65536)
line.sendall(bytes.fromhex("MESSAGE"))
"""
MESSAGE = b'{"type": "error", "message": "my brain is missing"}\n'


def with_node(
    home: Home, line: RecordingLine, sockets: SocketFolder, node: Path, patience: Patience
) -> SessionManager:
    openclaw = OpenClaw(home, sockets, patience, env=ENV, routes_env={}, node=str(node))
    return SessionManager(
        line, home, {"openclaw": openclaw.adapter}, sessions_max=3, clock=time.time
    )


async def failure_of(manager: SessionManager, line: RecordingLine) -> str:
    await manager.start_session({"session_id": "s-1", "runtime_type": "openclaw"})
    [error] = line.events("s-1", "execution_error")
    assert error["code"] == "SESSION_START_FAILED"
    await manager.close()
    return str(error["error"])


@pytest.mark.proves("004-4.4-connects-in-time")
async def test_a_bridge_that_does_not_connect_in_time_fails_the_start(
    tmp_path: Path, home: Home, line: RecordingLine, sockets: SocketFolder
) -> None:
    assert PROCESS_READY_S == 10
    node = put_program(tmp_path, "node", "exec sleep 987")
    manager = with_node(home, line, sockets, node, Patience(ready_s=0.3))
    assert "was not ready within 0.3 s" in await failure_of(manager, line)


@pytest.mark.proves("004-4.4-start-and-ready")
async def test_a_bridge_that_says_anything_but_ready_fails_the_start(
    tmp_path: Path, home: Home, line: RecordingLine, sockets: SocketFolder
) -> None:
    program = SAYS_ERROR.replace("MESSAGE", MESSAGE.hex())
    node = put_program(tmp_path, "node", f"exec {sys.executable} -c '{program}'")
    manager = with_node(home, line, sockets, node, Patience())
    assert "my brain is missing" in await failure_of(manager, line)


@pytest.mark.proves("004-4.9-mixed-runtimes", "004-4.1-runtimes-share-the-machine")
async def test_sessions_of_two_runtimes_run_beside_each_other(
    machine: Machine,
    line: RecordingLine,
    home: Home,
    spawner: Spawner,
    sockets: SocketFolder,
) -> None:
    semigraph = partial(SemiGraphAdapter, spawner.spawn, sockets, Patience())
    runtimes: dict[str, MakeAdapter] = {
        "openclaw": machine.openclaw.adapter,
        "semigraph": semigraph,
    }
    manager = SessionManager(
        line,
        home,
        runtimes,
        sessions_max=3,
        clock=time.time,
        local=machine.openclaw.local,
    )
    await manager.start_session(
        {"session_id": "a", "runtime_type": "openclaw", "agent_config": {"model": "gpt-x"}}
    )
    await manager.start_session({"session_id": "b", "runtime_type": "semigraph"})
    line.say("a", "say I am OpenClaw.")
    line.say("b", "I am SemiGraph.")
    assert (await line.end_of("a"))["content"] == "I am OpenClaw."
    assert (await line.end_of("b"))["content"] == "I am SemiGraph."
    for session in ("a", "b"):
        kinds = [event["type"] for event in line.events(session) if event["type"] != "thinking"]
        assert (kinds[0], kinds[-1]) == ("text_chunk", "execution_complete")
    await manager.close()
