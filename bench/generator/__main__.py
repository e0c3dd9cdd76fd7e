"""The generator's command loop: commands on stdin, answers on stdout, heartbeats in between.

Started by `bench.generator.client`, already pinned to its core; ends when stdin does.
"""

import os
import resource
import select
import sys
import time
from collections import deque

import msgspec

from bench.commands import (
    AnyCommand,
    AnyResult,
    CloseAll,
    Done,
    Exchange,
    Failed,
    Heartbeat,
    Herd,
    HerdResult,
    Latency,
    Load,
    OneEach,
    OpenLines,
    OpenStreams,
    Replay,
    StillOpen,
    StreamSpec,
    Verify,
)
from bench.generator.crowd import run_one_each
from bench.generator.herd import run_herd
from bench.generator.latency import run_latency
from bench.generator.links import Line, LinkError, Reader, open_line, open_reader
from bench.generator.load import run_load
from bench.generator.replay import run_replay
from bench.generator.verify import run_verify

HEARTBEAT_S = 10.0
IDLE_TURN_S = 0.1
STDIN_BYTES = 1 << 20


class Generator:
    """Holds what is open between commands and keeps it alive."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.streams: list[StreamSpec] = []
        self.readers: list[Reader] = []
        self._beats: deque[tuple[float, Line]] = deque()
        """When each line is to be heard of again, the next first."""

    def answer(self, command: AnyCommand) -> AnyResult:
        """Do it. What a server did wrong becomes `Failed`, not the end of the generator."""
        try:
            return self._do(command)
        except (LinkError, OSError) as error:
            return Failed(f"{type(command).__name__}: {error}")

    def _do(self, command: AnyCommand) -> AnyResult:
        match command:
            case OpenLines():
                for spec in command.lines:
                    self._hold(open_line(command.port, spec))
                    self.keep_alive()
            case Heartbeat():
                line = self.lines[command.line]
                line.heartbeat = line.frame(command.text)
                line.send_now(line.heartbeat)
            case Exchange():
                self.lines[command.line].exchange(command.steps)
            case OpenStreams():
                self._open_streams(command)
            case Verify():
                run_verify(command, self.lines, self.streams, self.readers)
            case Load():
                return run_load(command, self.lines, self.streams, self.readers)
            case OneEach():
                return run_one_each(command, self.lines, self.streams, self.readers)
            case Herd():
                return self._herd(command)
            case Latency():
                return run_latency(command, self.lines, self.streams, self.readers)
            case Replay():
                return run_replay(command, self.lines, self.streams, self.readers)
            case StillOpen():
                self._check_open()
            case CloseAll():
                self._close_all()
        return Done(len(self.lines), len(self.readers))

    def _open_streams(self, command: OpenStreams) -> None:
        for spec in command.streams:
            stream = len(self.streams)
            self.streams.append(spec)
            for _ in range(command.readers_per_stream):
                self.readers.append(open_reader(command.port, spec, stream))
                self.keep_alive()  # a thousand of them may take longer than a line may be silent

    def _herd(self, command: Herd) -> HerdResult:
        self._close_all()
        result, lines, self.readers = run_herd(command)
        for line in lines:
            self._hold(line)
        self.streams = command.streams
        return result

    def _check_open(self) -> None:
        for line in self.lines:
            line.drain()
        for reader in self.readers:
            reader.drain()

    def _close_all(self) -> None:
        for reader in self.readers:
            reader.sock.close()
        for line in self.lines:
            line.sock.close()
        self.lines, self.streams, self.readers = [], [], []
        self._beats.clear()

    def _hold(self, line: Line) -> None:
        self.lines.append(line)
        self._beats.append((time.monotonic() + HEARTBEAT_S, line))

    def keep_alive(self) -> None:
        """The heartbeats that are due."""
        now = time.monotonic()
        while self._beats and self._beats[0][0] <= now:
            _, line = self._beats.popleft()
            self._beats.append((now + HEARTBEAT_S, line))
            line.drain()
            if line.heartbeat:
                line.send_now(line.heartbeat)


def main() -> None:
    """Serve commands until the suite closes the pipe."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    generator = Generator()
    decoder = msgspec.json.Decoder(AnyCommand)
    pending = b""
    next_turn = time.monotonic() + IDLE_TURN_S
    while True:
        if select.select([0], [], [], max(0.0, next_turn - time.monotonic()))[0]:
            heard = os.read(0, STDIN_BYTES)
            if not heard:
                return
            pending += heard
            while b"\n" in pending:
                raw, _, pending = pending.partition(b"\n")
                result = generator.answer(decoder.decode(raw))
                sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
                sys.stdout.buffer.flush()
        if time.monotonic() >= next_turn:
            next_turn = time.monotonic() + IDLE_TURN_S
            try:
                generator.keep_alive()
            except (LinkError, OSError) as error:
                print(f"while idle: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
