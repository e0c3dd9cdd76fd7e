"""The plain aiohttp relay of `bench/peers/aiohttp_relay.py`, as a side.

Its line carries many sessions in the same frames as Trunkline's.
"""

import sys
from pathlib import Path

from bench.budgets import SERVER_CORE
from bench.commands import Done, LineSpec, OpenLines, OpenStreams, Replay, StreamSpec
from bench.generator.client import GeneratorClient
from bench.processes import Server, free_port
from bench.sides.base import envelope

_PROGRAM = Path(__file__).parent.parent / "peers" / "aiohttp_relay.py"


class AiohttpRelay:
    """The side."""

    name = "aiohttp"

    def __init__(self) -> None:
        self.server: Server | None = None
        self._port = 0
        self._sessions = 0

    def start(self, folder: Path) -> None:
        self._port = free_port()
        command = [sys.executable, str(_PROGRAM), str(self._port)]
        self.server = Server(command, folder, SERVER_CORE)
        self.server.wait_ready(f"http://127.0.0.1:{self._port}/ready")

    def open(self, generator: GeneratorClient, sessions: int, readers: int) -> None:
        generator.ask(OpenLines(self._port, [LineSpec(path="/line")]), Done)
        streams = [self._new_stream() for _ in range(sessions)]
        generator.ask(OpenStreams(self._port, streams, readers), Done)

    def open_idle_lines(self, generator: GeneratorClient, count: int) -> None:
        generator.ask(OpenLines(self._port, [LineSpec(path="/line")] * count), Done)

    def open_idle_readers(self, generator: GeneratorClient, count: int) -> None:
        generator.ask(OpenStreams(self._port, [self._new_stream()], count), Done)

    def replay(self, generator: GeneratorClient, times: int) -> Replay | None:
        return None

    def _new_stream(self) -> StreamSpec:
        self._sessions += 1
        # As long as a UUID, so that the frames of all sides have the same size.
        session_id = f"00000000-0000-4000-8000-{self._sessions:012d}"
        head, tail = envelope(session_id)
        return StreamSpec(0, head, tail, f"/stream/{session_id}")
