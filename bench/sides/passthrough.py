"""The pass-through peer of `bench/peers/passthrough.py`, as a side: the generator's own ceiling.

It forwards raw frames, so each session has its own line and the mask key is zero.
"""

import sys
from pathlib import Path

from bench.budgets import SERVER_CORE
from bench.commands import Done, Herd, LineSpec, OpenLines, OpenStreams, Replay, StreamSpec
from bench.generator.client import GeneratorClient
from bench.processes import Server, free_port
from bench.sides.base import PLAIN_HEAD, PLAIN_TAIL, running

_PROGRAM = Path(__file__).parent.parent / "peers" / "passthrough.py"


class Passthrough:
    """The side. Its readers get raw frames, so `Verify` does not apply to it."""

    name = "pass-through"

    def __init__(self) -> None:
        self.server: Server | None = None
        self._port = 0
        self._names = 0

    def start(self, folder: Path) -> None:
        self._port = free_port()
        self.server = Server([sys.executable, str(_PROGRAM), str(self._port)], folder, SERVER_CORE)
        self.server.wait_ready(f"http://127.0.0.1:{self._port}/ready")

    def open(self, generator: GeneratorClient, sessions: int, readers: int) -> None:
        lines, streams = self._specs(sessions)
        generator.ask(OpenLines(self._port, lines), Done)
        generator.ask(OpenStreams(self._port, streams, readers), Done)

    def open_crowd(self, generator: GeneratorClient, lines: int, readers: int) -> None:
        self.open(generator, lines, readers)

    def come(self, lines: int, readers: int) -> Herd:
        """All at once, which it was never away for: what the generator itself takes."""
        specs, streams = self._specs(lines)
        return Herd(self._port, specs, streams, readers, 0, [running(self).pid])

    def _specs(self, count: int) -> tuple[list[LineSpec], list[StreamSpec]]:
        self._names += 1
        names = [f"{self._names}.{at}" for at in range(count)]
        lines = [LineSpec(path=f"/line/{name}", masked=False) for name in names]
        streams = [
            StreamSpec(at, PLAIN_HEAD, PLAIN_TAIL, f"/stream/{name}")
            for at, name in enumerate(names)
        ]
        return lines, streams

    def open_idle_lines(self, generator: GeneratorClient, count: int) -> None:
        raise NotImplementedError("the pass-through peer is no server to weigh")

    def open_idle_readers(self, generator: GeneratorClient, count: int) -> None:
        raise NotImplementedError("the pass-through peer is no server to weigh")

    def replay(self, generator: GeneratorClient, times: int) -> Replay | None:
        return None
